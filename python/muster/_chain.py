"""Models that are chains of layers: their table for `muster layers`, and the advised cut."""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch import nn

from .layers import layer_table

_DRAWING = (nn.modules.dropout._DropoutNd, nn.RReLU, nn.FractionalMaxPool2d,
            nn.FractionalMaxPool3d, nn.MultiheadAttention)


class NotAChain(ValueError):
    """The model cannot be cut between its layers; the message is the reason."""


class Advice(NamedTuple):
    """The result of `muster layers` for a chain, or a cut that the caller chose."""

    layers: int  # Layers that the workers train, from the input; the server trains the others.
    bytes_per_step: Optional[int]  # Bytes that each worker sends per step; it receives as many.
    data_parallel_bytes: Optional[int]  # The same without a cut.
    factor: Optional[float]  # Predicted step time without a cut, divided by that with the cut.
    all_reduce_factor: Optional[float]  # The same for an all-reduce without a parameter server.
    text: str


def _is_sequential(module: nn.Module) -> bool:
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward


def _flat(name: str, module: nn.Module) -> Iterator[Tuple[str, nn.Module]]:
    if not _is_sequential(module):
        yield name, module
        return
    for child, part in module._modules.items():  # named_children() omits repeated modules.
        if part is not None:
            yield from _flat(f"{name}.{child}" if name else child, part)


def _layers_of(model: nn.Module) -> List[Tuple[str, nn.Module]]:
    kind, children = type(model).__name__, dict(model.named_children())
    if _is_sequential(model):
        return list(_flat("", model))
    if kind in ("VGG", "AlexNet") and list(children) in (
            ["features", "avgpool", "classifier"], ["features", "classifier"]):
        head = children.pop("classifier")
        body = itertools.chain.from_iterable(_flat(*child) for child in children.items())
        return [*body, ("flatten", nn.Flatten(1)), *_flat("classifier", head)]
    raise NotAChain(f"{kind} is not a chain: its forward() decides how data flows between its "
                    "layers; use nn.Sequential, or a model of the types VGG and AlexNet")


class Chain:
    """The layers of a model in the order in which data flows through them.

    `sample` is the input of one sample, with a batch dimension of 1. Raises NotAChain with the
    reason if the model is not a chain or if the exchange cannot train it.
    """

    def __init__(self, model: nn.Module, sample: torch.Tensor) -> None:
        self.model = model
        named = _layers_of(model)
        self.names = [name for name, _ in named]
        self.layers = [layer for _, layer in named]
        self._check_layers()
        sample = sample.to(self.parameters(0, len(self.layers))[0].device)
        # Positions of the layers with parameters, which are the rows of the table.
        self.trained = [index for index, layer in enumerate(self.layers)
                        if next(layer.parameters(), None) is not None]
        training = [(part, part.training) for part in model.modules()]
        model.eval()
        try:
            self._check_order(sample)
            self.rows = layer_table(nn.Sequential(*self.layers).eval(), sample,
                                    modules=[named[index] for index in self.trained])
        finally:
            for part, state in training:
                part.training = state
        counted: Set[nn.Parameter] = set()
        for row, index in zip(self.rows, self.trained):
            new = [p for p in self.parameters(index, index + 1) if p not in counted]
            row["parameter_bytes"] = sum(p.numel() * p.element_size() for p in new)
            counted.update(new)

    def __len__(self) -> int:
        return len(self.layers)

    def parameters(self, begin: int, end: int) -> List[nn.Parameter]:
        """Returns the trained parameters of the layers from `begin` to before `end`, once each."""
        part = nn.Sequential(*self.layers[begin:end])
        return [parameter for parameter in part.parameters() if parameter.requires_grad]

    def buffers(self, begin: int, end: int) -> List[torch.Tensor]:
        return list(nn.Sequential(*self.layers[begin:end]).buffers())

    def may_cut(self, layers: int) -> bool:
        """Returns whether the workers can train the first `layers` layers and the server the
        others: both sides have parameters and share none. Training all layers on the workers is
        allowed too."""
        rows = sum(index < layers for index in self.trained)
        if rows == len(self.rows):
            return layers == len(self.layers)
        return rows > 0 and self.rows[rows - 1]["output_bytes"] is not None

    def run(self, data: torch.Tensor, begin: int, end: int, seed: Sequence[int]) -> torch.Tensor:
        """Runs the layers from `begin` to before `end`. The random numbers of a layer depend only
        on `seed` and on its position, so a cut does not change them."""
        devices = [data.device] if data.is_cuda else []
        for index in range(begin, end):
            layer = self.layers[index]
            if not any(isinstance(part, _DRAWING) for part in layer.modules()):
                data = layer(data)
                continue
            digest = hashlib.blake2b(repr((*seed, index)).encode(), digest_size=8).digest()
            with torch.random.fork_rng(devices):
                torch.manual_seed(int.from_bytes(digest, "big") >> 1)
                data = layer(data)
        return data

    # ---- checks

    def _check_layers(self) -> None:
        seen = set()
        for name, layer in zip(self.names, self.layers):
            if id(layer) in seen and next(layer.parameters(), None) is not None:
                raise NotAChain(f"layer '{name}' appears twice in the chain")
            seen.add(id(layer))
            if any(isinstance(part, nn.SyncBatchNorm) for part in layer.modules()):
                raise NotAChain(f"layer '{name}' is SyncBatchNorm, which communicates between "
                                "workers itself; use BatchNorm")
            if any(getattr(part, "sparse", False) for part in layer.modules()):
                raise NotAChain(f"layer '{name}' has sparse gradients; use sparse=False")
        kinds = {p.dtype for p in self.parameters(0, len(self.layers))}
        if len(kinds) != 1:
            what = " and ".join(sorted(map(str, kinds))) or "nothing"
            raise NotAChain(f"its trained parameters must have one type: {what}")
        self.type = kinds.pop()  # Also of the outputs that workers send.

    def _check_order(self, sample: torch.Tensor) -> None:
        """Checks that the layers, one after the other, compute the same as the model."""
        with torch.no_grad():
            data: Any = sample
            if sample.is_floating_point():  # Zeros could hide a difference.
                same = torch.Generator().manual_seed(1)
                data = torch.rand(sample.shape, generator=same).to(sample)
            expected: Any = self.model(data.clone())
            for name, layer in zip(self.names, self.layers):
                data = layer(data)
                if not isinstance(data, torch.Tensor):
                    raise NotAChain(f"layer '{name}' returns a {type(data).__name__}, not one "
                                    "tensor")
                if data.is_floating_point() and data.dtype != self.type:
                    raise NotAChain(f"layer '{name}' returns {data.dtype}, and its trained "
                                    f"parameters are {self.type}")
        if not torch.equal(data, expected):
            raise NotAChain(f"{type(self.model).__name__}: its forward() is not the chain of its "
                            "layers")


def advise(model: nn.Module, sample: torch.Tensor, *, workers: int, batch: int,
           link: Optional[str] = None, compute: Optional[str] = None,
           program: str = "muster") -> Advice:
    """Returns the cut that `muster layers` advises. `link` and `compute` are its options. Raises
    NotAChain, or RuntimeError with the message of the command."""
    return advise_chain(Chain(model, sample), type(model).__name__, workers, batch, link, compute,
                        program)


def advise_chain(chain: Chain, name: str, workers: int, batch: int, link: Optional[str],
                 compute: Optional[str], program: str) -> Advice:
    words = [program, "layers", "/dev/stdin", "--json", "--workers", str(workers), "--batch",
             str(batch)]
    words += ["--link", link] if link else []
    words += ["--compute", compute] if compute else []
    try:
        got = subprocess.run(words, input=json.dumps({"model": name, "layers": chain.rows}),
                             capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"{program}: {error.strerror}; set program= to the path of muster, or "
                           "choose the cut yourself (cut=)") from error
    if got.returncode != 0:
        raise RuntimeError(f"{program} layers: {got.stderr.strip()}")
    figures = json.loads(got.stdout)
    whole = figures["data_parallel_bytes"]
    layers, sent, name = len(chain), whole, "data_parallel_step_s"
    if figures["cut_advised"]:
        layers = chain.trained[figures["layers_on_workers"]]
        sent, name = figures["cut_bytes"], "cut_step_s"
    factors = [figures[other] / figures[name]
               for other in ("data_parallel_step_s", "all_reduce_step_s")]
    return Advice(layers, sent, whole, *factors, figures["advice"])
