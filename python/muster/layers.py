"""Exports a PyTorch model as a table of its layers, for `muster layers`.

    python -m muster.layers torchvision.models:vgg16 --input 3x224x224 --out vgg16.csv
    python -m muster.layers train.py:make_model --input 128:int64 --out mine.json
    muster layers vgg16.csv

The model runs once on one sample of zeros. The exporter records for every operation which
parameters and earlier results it reads, and how many multiply-adds it performs. It therefore works
for any model code and determines the possible cuts exactly. A cut is possible after a layer if only
one tensor crosses it and no parameters are used on both sides.

A row is a module that has parameters itself, with all operations until the next such module starts.
"""

import argparse
import csv
import importlib
import importlib.util
import io
import json
import os
import sys

COLUMNS = ("name", "type", "parameter_bytes", "output_bytes", "macs")
MOST_LETTERS = 200  # Maximum length of a layer's name in `muster layers`.


class ExportError(Exception):
    """The reason why the export failed, in one line."""


def layer_table(model, *inputs, modules=None):
    """Runs the model on these inputs of one sample and returns its rows: dicts with the keys of
    COLUMNS. `output_bytes` is None where the model cannot be cut. Restores the training mode.
    `modules` are the (name, module) pairs that start a row (default: all modules that have
    parameters themselves)."""
    return _watched(model, inputs, modules).rows()


def _watched(model, inputs, modules=None):
    import torch  # Imported late: --help and other tests do not need PyTorch.

    if modules is None:
        modules = [(name, module) for name, module in model.named_modules()
                   if next(module.parameters(recurse=False), None) is not None]
    watch = _watch_class()(model, inputs)
    hooks = []
    for name, module in modules:
        begin = watch.beginner(name or type(module).__name__, type(module).__name__)
        hooks.append(module.register_forward_pre_hook(begin))
    was_training = model.training
    model.eval()
    try:
        # With gradients enabled. Otherwise PyTorch uses fused operations, which hide their parts.
        with torch.enable_grad(), watch:
            watch.end(model(*inputs))
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    return watch


def csv_text(rows):
    """Returns the rows as CSV, in the format of `muster layers`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(["" if row[key] is None else row[key] for key in COLUMNS])
    return out.getvalue()


def json_text(name, rows):
    """Returns the rows as JSON, with the model's name."""
    lines = ",\n".join("  " + json.dumps({key: row[key] for key in COLUMNS}) for row in rows)
    return '{"model": %s, "layers": [\n%s\n]}\n' % (json.dumps(name), lines)


def _macs(name, args, outputs):
    """Returns the multiply-adds of one operation; 0 for elementwise operations."""
    if name in ("convolution", "_convolution"):
        data, weight, transposed = args[0], args[1], args[6]
        seen = data if transposed else outputs[0]
        return seen.numel() * weight.numel() // weight.shape[0]
    if name in ("mm", "bmm"):
        return args[0].numel() * args[1].shape[-1]
    if name in ("addmm", "baddbmm"):
        return args[1].numel() * args[2].shape[-1]
    if name.startswith("_scaled_dot_product"):
        query, key = args[0], args[1]
        return 2 * query.numel() * key.shape[-2]
    return 0


def _tensors_in(value):
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors_in(item)]
    return []


class _LayerRecord:
    """Records the data flow through the model. Identifies values by their memory, so views of a
    tensor are the same value. A tensor that is overwritten in place becomes a new value. The class
    of _watch_class() calls read(), overwrite() and put_out() for each operation."""

    def __init__(self, model, inputs):
        self.layers = []    # (name, type) of each layer, in the order in which they start.
        self.calls = {}     # Layer name -> number of calls.
        self.macs = []      # Multiply-adds of each layer.
        self.kept = []      # Keeps all tensors alive, so that no memory is reused.
        self.versions = {}  # Memory -> number of times it was overwritten.
        self.made = {}      # Value -> the layer that computed it; -1 for the inputs.
        self.uses = {}      # Value -> [(layer, view of the value, bytes of the view)].
        self.fixed = {}     # Memory of parameters and buffers -> bytes of trained values.
        self.reads = {}     # Memory of parameters and buffers -> layers that read it.
        for tensor in list(model.parameters()) + list(model.buffers()):
            learnt = tensor.numel() * tensor.element_size() if tensor.is_floating_point() else 0
            self.fixed[self.memory(tensor)] = learnt
        for tensor in _tensors_in(inputs):
            self.put_out(tensor)

    @staticmethod
    def memory(tensor):
        # PyTorch 2 has a new name for storage() and warns about the old one.
        return getattr(tensor, "untyped_storage", tensor.storage)().data_ptr()

    def beginner(self, name, kind):
        def begin(_module, _inputs):
            self.calls[name] = self.calls.get(name, 0) + 1
            again = "#%d" % self.calls[name] if self.calls[name] > 1 else ""
            self.layers.append((name[-(MOST_LETTERS - 10):] + again, kind))
            self.macs.append(0)
        return begin

    def now(self):
        return len(self.layers) - 1

    def value(self, tensor):
        memory = self.memory(tensor)
        return memory, self.versions.get(memory, 0)

    def put_out(self, tensor):
        self.kept.append(tensor)
        if self.memory(tensor) not in self.fixed:
            self.made.setdefault(self.value(tensor), self.now())

    def read(self, tensor, layer):
        memory = self.memory(tensor)
        if memory in self.fixed:
            self.reads.setdefault(memory, set()).add(layer)
            return
        place = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))
        size = tensor.numel() * tensor.element_size()
        self.uses.setdefault(self.value(tensor), []).append((layer, place, size))

    def overwrite(self, tensor):
        memory = self.memory(tensor)
        self.versions[memory] = self.versions.get(memory, 0) + 1

    def has_read(self, tensor):
        return self.memory(tensor) in self.reads

    def end(self, out):
        """Counts the model's output as used after its last layer."""
        for tensor in _tensors_in(out):
            self.read(tensor, len(self.layers))

    def crossing(self):
        """Returns for each layer the bytes that cross a cut after it, or None if no cut is
        possible: more than one tensor crosses, or parameters are used on both sides."""
        across = [{} for _ in self.layers]  # Value -> views of it used later -> bytes.
        for value, uses in self.uses.items():
            for used, place, size in uses:
                for layer in range(max(self.made.get(value, -1), 0), min(used, len(across))):
                    across[layer].setdefault(value, {})[place] = size
        apart = [len(values) == 1 for values in across]
        for layers in self.reads.values():
            for layer in range(max(min(layers), 0), min(max(layers), len(apart))):
                apart[layer] = False
        return [sum(next(iter(values.values())).values()) if fits else None
                for values, fits in zip(across, apart)]

    def rows(self):
        learnt = [0] * len(self.layers)
        for memory, layers in self.reads.items():
            learnt[max(min(layers), 0)] += self.fixed[memory]
        return [dict(zip(COLUMNS, (name, kind, *figures)))
                for (name, kind), *figures in zip(self.layers, learnt, self.crossing(),
                                                  self.macs)]


def _watch_class():
    """Returns a subclass of _LayerRecord that records every PyTorch operation inside a `with`."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(_LayerRecord, TorchDispatchMode):
        def __init__(self, model, inputs):
            TorchDispatchMode.__init__(self)
            _LayerRecord.__init__(self, model, inputs)

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            for tensor in _tensors_in(args) + _tensors_in(kwargs):
                self.kept.append(tensor)
                self.read(tensor, self.now())
            out = func(*args, **kwargs)
            for position, argument in enumerate(func._schema.arguments):
                if argument.alias_info is None or not argument.alias_info.is_write:
                    continue
                written = args[position] if position < len(args) else kwargs.get(argument.name)
                for tensor in _tensors_in(written):
                    self.overwrite(tensor)
            outputs = _tensors_in(out)
            for tensor in outputs:
                self.put_out(tensor)
            if self.layers and outputs:
                self.macs[-1] += _macs(func._schema.name.split("::")[-1], args, outputs)
            return out

    return Watch


def _parsed_input(text):
    """Returns a sample of zeros for "3x224x224" or "128:int64"."""
    import torch
    shape, _, kind = text.partition(":")
    kind = kind or "float32"
    try:
        sides = [int(side) for side in shape.split("x")] if shape else []
    except ValueError:
        sides = [0]
    if any(side < 1 for side in sides):
        raise ExportError("--input: must be a shape such as 3x224x224: '%s'" % text)
    if not isinstance(getattr(torch, kind, None), torch.dtype):
        raise ExportError("--input: must be a type such as float32 or int64: '%s'" % kind)
    return torch.zeros([1] + sides, dtype=getattr(torch, kind))


def _loaded_model(target):
    """Returns the model of "package.module:name" or "file.py:name". Calls `name` if it is not a
    model itself."""
    import torch
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise ExportError("MODEL: must be module:name or file.py:name: '%s'" % target)
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location("muster_exported", place)
            module = importlib.util.module_from_spec(spec)
            sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, os.getcwd())
            module = importlib.import_module(place)
        model = getattr(module, name)
        if not isinstance(model, torch.nn.Module):
            model = model()
    except Exception as error:  # The model's code may raise anything.
        raise ExportError("MODEL: cannot be created: %s: %s" % (type(error).__name__, error))
    if not isinstance(model, torch.nn.Module):
        raise ExportError("MODEL: '%s' returned a %s, not a torch.nn.Module"
                          % (target, type(model).__name__))
    return model


def _export(options):
    try:
        import torch  # noqa: F401
    except ImportError:
        raise ExportError("PyTorch is not installed for %s" % sys.executable)
    model = _loaded_model(options.model)
    inputs = [_parsed_input(text) for text in options.input]
    try:
        watch = _watched(model, inputs)
    except Exception as error:  # Usually an input of the wrong shape.
        raise ExportError("--input: the model does not run on %s: %s: %s"
                          % (", ".join(options.input), type(error).__name__, error))
    rows = watch.rows()
    unused = [name for name, value in model.named_parameters() if not watch.has_read(value)]
    if not rows:
        raise ExportError("MODEL: the model called no module that has parameters")
    if unused:
        print("note: %d parameters are unused and not counted: %s"
              % (len(unused), ", ".join(unused[:4]) + (", ..." if len(unused) > 4 else "")),
              file=sys.stderr)
    name = options.name or options.model.rpartition(":")[2]
    if options.json or (options.out or "").endswith(".json"):
        return json_text(name, rows)
    return csv_text(rows)


def main(words=None):
    parser = argparse.ArgumentParser(
        prog="python -m muster.layers", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Exports a PyTorch model as a table of its layers, for `muster layers`.",
        epilog="example:\n  python -m muster.layers torchvision.models:vgg16 --input 3x224x224 "
               "--out vgg16.csv\n  muster layers vgg16.csv")
    parser.add_argument("model", metavar="MODEL",
                        help="module:name or file.py:name of a model or of a function that returns "
                             "one")
    parser.add_argument("--input", action="append", required=True,
                        help="shape of one sample, such as 3x224x224, optionally with a type: "
                             "128:int64; repeat it for each input")
    parser.add_argument("--out", help="file to write; JSON if the name ends in .json (default: "
                                      "standard output)")
    parser.add_argument("--json", action="store_true", help="write JSON with any file name")
    parser.add_argument("--name", help="name of the model in JSON (default: the name in MODEL)")
    options = parser.parse_args(words)
    try:
        text = _export(options)
        if options.out:
            temporary = "%s.tmp%d" % (options.out, os.getpid())
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, options.out)
        else:
            sys.stdout.write(text)
    except (ExportError, OSError) as error:
        line = " ".join(str(error).split())
        print("muster.layers: %s; nothing was written" % line, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
