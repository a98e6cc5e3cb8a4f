"""Writes keys_of_types.json: the keys that transformers' configuration classes read, with their defaults.

usage: keys_of_types.py ASHLAR > keys_of_types.json

ASHLAR is the tool; the types are those that it knows and transformers has. A key is one that the class or its model names: a field, another name of one, or
a word that the code takes from what is left or asks the configuration for. All others transformers ignores for that type.
"""
import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys

os.environ["TRANSFORMERS_VERBOSITY"] = "error"


def asked_words(source):
    """Texts that code pops or gets from a dictionary, or asks an object for."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in ("pop", "get") and node.args:
            word = node.args[0]
        elif isinstance(function, ast.Name) and function.id in ("getattr", "hasattr") and len(node.args) > 1:
            word = node.args[1]
        else:
            continue
        if isinstance(word, ast.Constant) and isinstance(word.value, str) and word.value.isidentifier():
            yield word.value


def keys_of(cls, base):
    """A class's keys with their defaults; null where it has none, or a list for each layer."""
    try:
        defaults = json.loads(json.dumps(cls().to_dict(), default=str))
    except Exception:
        defaults = {}  # a class whose defaults contradict each other
    own = {name for one in cls.__mro__ if one not in base.__mro__ for name in getattr(one, "__annotations__", {})}
    own |= set(cls.attribute_map)
    module = inspect.getmodule(cls)
    own |= set(asked_words(inspect.getsource(module)))
    modeling = importlib.import_module(module.__name__.replace("configuration_", "modeling_"))
    own |= set(asked_words(inspect.getsource(modeling)))
    common = {name for one in base.__mro__ for name in getattr(one, "__annotations__", {})}
    simple = {name: value for name, value in defaults.items() if not isinstance(value, (list, dict))}
    return {name: simple.get(name) for name in sorted(own) if name not in common and not name.startswith("__")}


def main():
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    told = subprocess.run([sys.argv[1], "predict", "--model", "/dev/stdin", "--cluster", "8xH100"], input='{"model_type": "?"}',
                          capture_output=True, text=True).stderr
    types = re.search(r"there are: ([^;]*);", told).group(1).split()
    base = transformers.PretrainedConfig
    print("{")
    print(f' "transformers": {json.dumps(transformers.__version__)},')
    print(' "types": {')
    rows = [f"  {json.dumps(each)}: {json.dumps(keys_of(CONFIG_MAPPING[each], base))}" for each in types if each in CONFIG_MAPPING]
    print(",\n".join(rows))
    print(" }\n}")


if __name__ == "__main__":
    main()
