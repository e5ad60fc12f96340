"""Fitted models as files: `model.save(path)` and `load_model(path)`.

`container` is the layout and refuses what is damaged, `values` turns parameters and records into
JSON, `save` and `load` know what an estimator is made of. docs/model-file.md lists it all.
"""

from anmin.model_file.container import ModelFileError
from anmin.model_file.load import load_model, storable
from anmin.model_file.save import save_model

__all__ = ["ModelFileError", "load_model", "save_model", "storable"]
