# ruff: noqa: S101 - asserts are what pytest reads
"""The battery of lesson 12 for a torch.nn.Module of your own.

Save this file as test_my_norm.py, put your module into `norm`, and run `pytest test_my_norm.py`. For another device
write torch.set_default_device("cuda") below the imports.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest
import torch

TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 0.1}


@dataclass
class Norm:
    """The adapter: how to make your module and one that you trust, and what they take."""

    make: Callable[[], torch.nn.Module]
    trusted: Callable[[], torch.nn.Module]  # with as many parameters, in the same order
    shape: tuple = (8, 4, 6)  # of a batch; the first axis is that of the samples
    channels: int = 1  # the axis that gamma belongs to


@pytest.fixture
def norm():
    # An RMSNorm needs a named eps, since its default depends on the dtype.
    return Norm(make=lambda: torch.nn.BatchNorm1d(4), trusted=lambda: torch.nn.BatchNorm1d(4))


def draw(norm, seed=0, **lengths):
    """A random batch in float64: mean 0, standard deviation 1. draw(norm, axis_2=5) has another length there."""
    shape = list(norm.shape)
    for axis, length in lengths.items():
        shape[int(axis[-1])] = length
    generator = torch.Generator(torch.get_default_device()).manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def trained(module, dtype):
    """The module with parameters that differ from channel to channel and are not 1 and 0."""
    for number, parameter in enumerate(module.to(dtype).parameters()):
        ends = (-1.5, 2.0) if number == 0 else (1.0, -1.0)
        parameter.data = torch.linspace(*ends, parameter.numel(), dtype=dtype).reshape(parameter.shape)
    return module


def results(norm, module, batches, dtype):
    """Outputs and gradients, channels first: all batches in training mode, then the last one in eval mode, twice."""
    found = {}
    for call, batch in enumerate([*batches, batches[-1], batches[-1]]):
        module.train(call < len(batches))
        x = batch.clone().requires_grad_()
        y = module(x)
        module.zero_grad()
        dy = (batch.double() > batch.double().nanmean()) + 0.5 * torch.arange(y.numel()).cos().reshape(y.shape)
        y.backward(dy.to(dtype).to(y.dtype))
        mode = f"call {call + 1}, {'training' if module.training else 'eval'} mode"
        for name, tensor in (("output", y), ("dx", x.grad)):
            found[f"{name}, {mode}"] = tensor.detach().movedim(norm.channels, 0).flatten(1)
        for name, parameter in zip(("dgamma", "dbeta"), module.parameters(), strict=False):
            found[f"{name}, {mode}"] = parameter.grad.reshape(-1, 1)
    return found


def compare(norm, *batches, dtype=torch.float32, wrap=lambda module: module):
    """Your module against the trusted one in float64: an error is measured by the largest number of its channel."""
    yours, trusted = trained(norm.make(), dtype), trained(norm.trusted(), torch.float64)
    for mine, other in zip(yours.parameters(), trusted.parameters(), strict=True):
        other.data = mine.data.double().reshape(other.shape)  # the same numbers, rounded to dtype
    batches = [batch.to(dtype) for batch in batches]
    wanted = results(norm, trusted, [batch.double() for batch in batches], dtype)
    for name, got in results(norm, wrap(yours), batches, dtype).items():
        assert got.dtype == dtype, f"{name} has dtype {got.dtype}, expected {dtype}"
        assert got.shape == wanted[name].shape, f"{name}: wrong shape"
        off = (got.double() - wanted[name]).abs()
        size = wanted[name].abs().nan_to_num().amax(dim=1, keepdim=True)
        wrong = (off > TOLERANCE[dtype] * size + 1e-12) | (got.isnan() != wanted[name].isnan())
        worst = f"channels {wrong.any(dim=1).nonzero().flatten().tolist()}, largest difference {off.max():.2g}"
        assert not wrong.any(), f"{name}: {worst}"


def test_a_random_batch(norm):
    compare(norm, draw(norm))


def test_a_large_mean(norm):
    compare(norm, 1e2 + draw(norm))
    compare(norm, 1e8 + draw(norm), dtype=torch.float64)


def test_a_tiny_scale(norm):
    compare(norm, 1e-3 * draw(norm))


def test_a_sample_of_zeros(norm):  # such as padding: the slope of a root at 0 is infinite
    batch = draw(norm)
    batch[0] = 0
    compare(norm, batch)


def test_channels_of_very_different_sizes(norm):
    sizes = torch.logspace(-2, 3.5, norm.shape[norm.channels], dtype=torch.float64)
    compare(norm, (draw(norm).movedim(norm.channels, -1) * sizes).movedim(-1, norm.channels))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_16_bits(norm, dtype):
    compare(norm, 300 * draw(norm), dtype=dtype)


def test_other_lengths(norm):
    for axis in range(len(norm.shape)):
        if axis != norm.channels:
            compare(norm, draw(norm, **{f"axis_{axis}": 11}))
            compare(norm, draw(norm, **{f"axis_{axis}": norm.shape[norm.channels]}))


def test_two_different_batches_then_eval_mode(norm):
    compare(norm, draw(norm), 3 + 2 * draw(norm, seed=1))


def test_an_outlier_and_a_nan(norm):
    batch = draw(norm, axis_0=300)
    batch.view(-1)[0] = 1000
    compare(norm, batch)
    batch.view(-1)[0] = torch.nan
    compare(norm, batch)


def test_one_value_per_channel(norm):
    module = norm.make()
    lengths = {f"axis_{k}": 1 for k in range(len(norm.shape)) if k != norm.channels}
    with suppress(ValueError):  # a module may refuse it
        module(draw(norm, **lengths).float())
    assert module.eval()(draw(norm).float()).isfinite().all(), "eval mode gives NaN afterwards"


def test_an_empty_batch(norm):
    module = norm.make()
    with suppress(ValueError, IndexError, RuntimeError):  # a module may refuse it, as InstanceNorm1d does
        module(draw(norm, axis_0=0).float())
    assert module.eval()(draw(norm).float()).isfinite().all(), "eval mode gives NaN afterwards"


def test_a_batch_with_other_strides(norm):  # the same numbers, in another order in memory
    compare(norm, draw(norm).transpose(0, -1).contiguous().transpose(0, -1))


def test_compiled(norm):  # backend="inductor", the default, takes longer and tests the generated code, too
    torch.compiler.reset()
    batches = draw(norm), 3 + 2 * draw(norm, seed=1, axis_0=11)
    compare(norm, *batches, wrap=lambda module: torch.compile(module, backend="aot_eager"))


def test_autocast(norm):  # which runs matrix products in 16 bits; a mean must not be one
    with torch.autocast(torch.get_default_device().type, dtype=torch.bfloat16):
        compare(norm, 30 + draw(norm))


def test_the_input_is_left_alone(norm):
    batch = draw(norm).float()
    norm.make()(batch)
    assert batch.equal(draw(norm).float()), "the module changes its input"


def test_the_order_of_the_samples(norm):
    module, batch = norm.make(), draw(norm, axis_0=11).float()
    order = torch.arange(11).flip(0)
    torch.testing.assert_close(module(batch[order]), module(batch)[order], rtol=1e-4, atol=1e-4)


def test_gradients_against_central_differences(norm):  # needs no trusted module
    for training in (True, False):
        module = trained(norm.make(), torch.float64).train(training)
        names = [name for name, _ in module.named_parameters()]
        values = [parameter.detach().clone().requires_grad_() for parameter in module.parameters()]

        def outputs(x, *values, module=module, names=names):
            return torch.func.functional_call(module, dict(zip(names, values, strict=True)), (x,))

        batch = draw(norm, axis_0=2).requires_grad_()
        assert torch.autograd.gradcheck(outputs, (batch, *values))


def test_saved_and_loaded(norm):
    module, loaded = norm.make(), norm.make()
    module(3 + draw(norm).float())
    loaded.load_state_dict(module.state_dict())
    batch = draw(norm, seed=1).float()
    assert loaded.eval()(batch).equal(module.eval()(batch)), "state_dict does not hold all that eval mode uses"
