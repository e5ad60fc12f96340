"""A first evening: fit from CSV, predict, report, export to C, compile; the same numbers."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

DEMO = r"""
#include <stdio.h>
void model_predict(const double x[], double y[]);

int main(void) {
    double x[2], y[1];
    while (scanf("%lf,%lf", &x[0], &x[1]) == 2) {
        model_predict(x, y);
        printf("%.17g\n", y[0]);
    }
    return 0;
}
"""


@pytest.fixture
def shell(tmp_path):
    """Run a program in an empty folder, as one would in a terminal."""

    def run(*words, **kwargs):
        done = subprocess.run(
            words, cwd=tmp_path, capture_output=True, text=True, check=True, **kwargs
        )
        return done.stdout

    return run


def anmin(shell, *words, **kwargs):
    import anmin as package

    source = package.__path__[0].rpartition("/")[0]  # where the package is, also from elsewhere
    code = f"import sys; sys.path.insert(0, {source!r}); from anmin.__main__ import main; main()"
    return shell(sys.executable, "-c", code, *words, **kwargs)


def test_from_a_table_to_a_microcontroller(shell, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 2))
    table = np.column_stack([X, np.abs(X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=300)])
    for name, part in (("train", table[:250]), ("test", table[250:])):
        np.savetxt(tmp_path / f"{name}.csv", part, delimiter=",", header="a,b,price", comments="")

    fit = ("--target", "price", "-o", "m.anmin", "--json", "--n-hidden", "8")
    facts = json.loads(anmin(shell, "fit", "train.csv", *fit))
    assert facts["test"]["price"]["r2"] > 0.97

    anmin(shell, "predict", "m.anmin", "test.csv", "-o", "out.csv")
    head, *lines = (tmp_path / "out.csv").read_text().split()
    said = np.array(lines, dtype=float)
    assert head == "price"
    assert np.mean((said - table[250:, 2]) ** 2) < 0.01

    anmin(shell, "report", "m.anmin", "--data", "test.csv", "-o", "report.html")
    assert "Report on m.anmin" in (tmp_path / "report.html").read_text(encoding="utf-8")

    anmin(shell, "export", "m.anmin", "--to", "c", "--dtype", "float64", "-o", "model.c")
    (tmp_path / "main.c").write_text(DEMO)
    shell(
        "gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "main.c", "model.c", "-o", "main"
    )
    inputs = "\n".join(f"{a!r},{b!r}" for a, b in table[250:, :2].tolist())
    on_the_device = np.array(shell("./main", input=inputs).split(), dtype=float)
    np.testing.assert_allclose(on_the_device, said, rtol=1e-10)
