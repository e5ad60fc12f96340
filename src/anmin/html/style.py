"""The frame of a report page: its style and its head."""

CSS = """
:root { color-scheme: light dark; --ink: #1c1c1c; --back: #ffffff; --line: #d9d9d9;
  --soft: #f4f6f8; --quiet: #5c6670; --blue: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --back: #15181b; --line: #3a4046; --soft: #1e2327; --quiet: #9aa4ad;
    --blue: #4aa3dc; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--back);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0 0 0.5rem; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
p, figcaption { color: var(--quiet); margin: 0 0 0.5rem; max-width: 42rem; }
figure { margin: 0; }
figcaption { font-size: 0.85rem; text-align: center; overflow-wrap: anywhere; }
svg[role=img] { display: block; width: 100%; height: auto; max-width: 36rem; }
.gallery { display: grid; gap: 1rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
.pair { display: grid; gap: 1rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.9rem 0.25rem 0; text-align: right;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
.numbers th[scope=row] { min-width: 6.5rem; }
.words td { text-align: left; max-width: 46rem; overflow-wrap: anywhere; }
.words th { white-space: nowrap; vertical-align: top; }
th[scope=row], th[scope=col]:first-child { text-align: left; font-weight: 400; }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
