"""The battery that lesson 12 gives for one's own torch.nn.Module: correct modules pass, broken ones fail by name.

Needs torch, as `make test-everything` has it: /path/to/python -m pytest tests/lessons/test_battery_for_torch.py
"""

import importlib.util
import sys
import warnings
from functools import partial

import pytest

from tests.shared import ROOT

torch = pytest.importorskip("torch")
FILE = ROOT / "helpers" / "lessons" / "12_bug_gallery" / "battery_for_torch.py"


def loaded():
    spec = importlib.util.spec_from_file_location("battery_for_torch", FILE)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BATTERY = loaded()
TESTS = {name: test for name, test in vars(BATTERY).items() if name.startswith("test_")}
TESTS |= {
    f"test_{name}": partial(TESTS["test_16_bits"], dtype=getattr(torch, name)) for name in ("float16", "bfloat16")
}
del TESTS["test_16_bits"]
nn = torch.nn
IMAGES, TOKENS, TABLE = {"shape": (8, 4, 3, 5)}, {"shape": (8, 4, 6), "channels": 2}, {"shape": (8, 4)}


def failed(norm):
    """The names of the tests that a module fails."""
    found = set()
    for name, test in TESTS.items():
        try:
            with warnings.catch_warnings(action="ignore"):
                test(norm)
        except Exception:
            found.add(name.removeprefix("test_"))
    return found


RIGHT = {
    "BatchNorm1d, positions": (lambda: nn.BatchNorm1d(4), {}),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), IMAGES),
    "LayerNorm": (lambda: nn.LayerNorm(6), TOKENS),
    "LayerNorm, table": (lambda: nn.LayerNorm(4), TABLE),
    "GroupNorm, 1 group": (lambda: nn.GroupNorm(1, 4), {}),
    "GroupNorm, 2 groups": (lambda: nn.GroupNorm(2, 4), IMAGES),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(4, affine=True, track_running_stats=True), {}),
    "RMSNorm": (lambda: nn.RMSNorm(6, eps=1e-6), TOKENS),  # the default of eps depends on the dtype
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_norms_of_torch_pass(name):
    make, takes = RIGHT[name]
    assert failed(BATTERY.Norm(make, make, **takes)) == set()


# ----------------------------------------------------------------------------------------------------
# Correct modules written by hand, and ten edits each of which puts one bug in.


class TokenNorm(nn.Module):
    """Layer norm over the last axis, in float32 at least."""

    def __init__(self):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(6)), nn.Parameter(torch.zeros(6))

    def variance(self, x, mean):
        return (x - mean).square().mean(-1, keepdim=True)

    def root(self, var):
        return (var + 1e-5).sqrt()

    def statistics(self, x):
        mean = x.mean(-1, keepdim=True)
        return mean, self.root(self.variance(x, mean))

    def scale(self, x_hat):
        return self.gamma * x_hat + self.beta

    def widened(self, x):
        return x if x.dtype == torch.float64 else x.float()

    def narrowed(self, y, x):
        return y.to(x.dtype)

    def forward(self, x):
        wide = self.widened(x)
        mean, sd = self.statistics(wide)
        return self.narrowed(self.scale((wide - mean) / sd), x)


class ChannelNorm(nn.Module):
    """Batch norm of (N, C, L), in float32 at least."""

    def __init__(self):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))
        self.keep(torch.zeros(4), torch.ones(4))

    def keep(self, mean, var):
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", var)

    def update(self, mean, var, n):
        if n > 1:
            self.running_mean = 0.9 * self.running_mean + 0.1 * mean
            self.running_var = 0.9 * self.running_var + 0.1 * var * n / (n - 1)

    def scale(self, x_hat):
        return self.gamma[:, None] * x_hat + self.beta[:, None]

    def gradient_of(self, x_hat):
        return x_hat

    def forward(self, x):
        wide = x if x.dtype == torch.float64 else x.float()
        mean, var = self.running_mean.to(wide.dtype), self.running_var.to(wide.dtype)
        if self.training:
            mean, var = wide.mean((0, 2)), wide.var((0, 2), unbiased=False)
            with torch.no_grad():
                self.update(mean, var, x.numel() // 4)
        x_hat = (wide - mean[:, None]) / (var[:, None] + 1e-5).sqrt()
        return self.scale(self.gradient_of(x_hat)).to(x.dtype)


class _Averaged(torch.autograd.Function):
    """gamma * x_hat, whose gradient of gamma is averaged over the batch."""

    @staticmethod
    def forward(ctx, x_hat, gamma):
        ctx.save_for_backward(x_hat, gamma)
        return gamma * x_hat

    @staticmethod
    def backward(ctx, dy):
        x_hat, gamma = ctx.saved_tensors
        return gamma * dy, (dy * x_hat).mean((0, 1)).to(gamma.dtype)


class _LastChannelForgotten(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x_hat):
        return x_hat.clone()

    @staticmethod
    def backward(ctx, dy):
        return torch.cat([dy[:, :-1], 0 * dy[:, -1:]], dim=1)


def unguarded(self, mean, var, n):
    self.running_mean = 0.9 * self.running_mean + 0.1 * mean
    self.running_var = 0.9 * self.running_var + 0.1 * var * n / (n - 1)


def swapped(self, mean, var, n):
    if n > 1:
        self.running_mean = 0.1 * self.running_mean + 0.9 * mean
        self.running_var = 0.1 * self.running_var + 0.9 * var * n / (n - 1)


def guarded_for_one(self, mean, var, n):
    if n != 1:
        unguarded(self, mean, var, n)


class FromMemory(TokenNorm):
    """Right, but takes the numbers in the order of memory."""

    def forward(self, x):
        return super().forward(x.as_strided(x.shape, torch.empty(x.shape).stride()))


class ByMatrix(TokenNorm):
    """The mean is a product with a matrix, which autocast runs in 16 bits."""

    def statistics(self, x):
        mean = x @ torch.full((6, 1), 1 / 6, dtype=x.dtype)
        return mean, self.root(self.variance(x, mean))


def without_beta_if_compiled(self, x_hat):
    return self.gamma * x_hat if torch.compiler.is_compiling() else TokenNorm.scale(self, x_hat)


def one_pass(self, x, mean):
    return x.square().mean(-1, keepdim=True) - mean.square()


# What is wrong -> (the module, what is replaced, a test that has to fail)
WRONG = {
    "eps outside the root": (TokenNorm, {"root": lambda self, var: var.sqrt() + 1e-5}, "a_tiny_scale"),
    "a root at 0": (TokenNorm, {"root": lambda self, var: var.sqrt() + 1e-12}, "a_sample_of_zeros"),
    "one-pass variance": (TokenNorm, {"variance": one_pass}, "a_large_mean"),
    "squares in 16 bits": (TokenNorm, {"widened": lambda self, x: x}, "float16"),
    "a wider dtype": (TokenNorm, {"narrowed": lambda self, y, x: y}, "bfloat16"),
    "constants in backward": (
        TokenNorm,
        {"statistics": lambda self, x: [s.detach() for s in TokenNorm.statistics(self, x)]},
        "gradients_against_central_differences",
    ),
    "the gradient of gamma averaged": (
        TokenNorm,
        {"scale": lambda self, x_hat: _Averaged.apply(x_hat, self.gamma) + self.beta},
        "a_random_batch",
    ),
    "gamma on the last axis": (
        ChannelNorm,
        {"scale": lambda self, x_hat: self.gamma * x_hat + self.beta},
        "other_lengths",
    ),
    "NaN after one value": (ChannelNorm, {"update": unguarded}, "one_value_per_channel"),
    "NaN after an empty batch": (ChannelNorm, {"update": guarded_for_one}, "an_empty_batch"),
    "reads memory in order": (FromMemory, {}, "a_batch_with_other_strides"),
    "a mean by a matrix product": (ByMatrix, {}, "autocast"),
    "another formula when compiled": (TokenNorm, {"scale": without_beta_if_compiled}, "compiled"),
    "swapped weights": (ChannelNorm, {"update": swapped}, "two_different_batches_then_eval_mode"),
    "the last channel has no gradient": (
        ChannelNorm,
        {"gradient_of": lambda self, x_hat: _LastChannelForgotten.apply(x_hat)},
        "channels_of_very_different_sizes",
    ),
    "running statistics that are no buffers": (
        ChannelNorm,
        {"keep": lambda self, mean, var: vars(self).update(running_mean=mean, running_var=var)},
        "saved_and_loaded",
    ),
}
TRUSTED = {TokenNorm: (lambda: nn.LayerNorm(6), TOKENS), ChannelNorm: (lambda: nn.BatchNorm1d(4), {})}


def trusted(base):
    return next(pair for known, pair in TRUSTED.items() if issubclass(base, known))


@pytest.mark.parametrize("module", TRUSTED, ids=lambda module: module.__name__)
def test_a_correct_module_written_by_hand_passes(module):
    make, takes = TRUSTED[module]
    assert failed(BATTERY.Norm(module, make, **takes)) == set()


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_module_is_rejected(name):
    base, replaced, test = WRONG[name]
    make, takes = trusted(base)
    assert test in failed(BATTERY.Norm(type("Broken", (base,), replaced), make, **takes))


def test_every_test_is_needed_by_a_broken_module():
    """No test of the battery passes whatever it is given."""
    caught = [failed(BATTERY.Norm(type("B", (b,), r), trusted(b)[0], **trusted(b)[1])) for b, r, _ in WRONG.values()]
    assert set().union(*caught) >= {name.removeprefix("test_") for name in TESTS} - {"the_input_is_left_alone"}


# ----------------------------------------------------------------------------------------------------
# Two processes under DistributedDataParallel, with unequal batches. To try a module of your own, copy the battery and
# this part. It is not in the battery, since no helper of ours starts a program. SyncBatchNorm itself works on GPUs
# only, so the synchronized norms that are tried are written here.


def one_step(module, x, dy):
    """The outputs, dx, and the gradients of the parameters."""
    x = x.clone().requires_grad_()
    y = module(x)
    y.backward(dy)
    return y.detach(), x.grad, *(parameter.grad.flatten() for parameter in module.parameters())


def in_process(rank, make, parts, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/start", rank=rank, world_size=2)
    module = nn.parallel.DistributedDataParallel(BATTERY.trained(make(), torch.float64))
    found = one_step(module, *parts[rank])
    kept = [buffer.clone() for buffer in module.buffers()]
    with torch.no_grad():
        module(parts[rank][0])  # which starts from the buffers of process 0
    torch.save([found, kept, list(module.buffers())], folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def two_processes(norm, folder, synced):
    """Outputs and gradients with 5 and 3 samples, against the trusted module; returns what the processes saved."""
    x, dy = BATTERY.draw(norm), BATTERY.draw(norm, seed=1)
    parts = list(zip(x.tensor_split([5]), dy.tensor_split([5]), strict=True))
    torch.multiprocessing.start_processes(in_process, (norm.make, parts, folder), nprocs=2, start_method="fork")
    saved = [torch.load(folder / f"{rank}.pt") for rank in range(2)]
    got = [found for found, *_ in saved]
    each = [(x, dy)] if synced else parts  # synced: the statistics are those of all 8 samples
    wanted = [one_step(BATTERY.trained(norm.trusted(), torch.float64), *part) for part in each]
    for k, name in enumerate(("output", "dx")):
        both, whole = (torch.cat([found[k] for found in each]) for each in (got, wanted))
        assert torch.allclose(both, whole), name
    for k, name in enumerate(("dgamma", "dbeta"), 2):
        average = sum(found[k] for found in wanted) / 2
        assert all(torch.allclose(found[k], average) for found in got), name
    return saved


class _SumOverProcesses(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        total = x.clone()
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, dy):
        return _SumOverProcesses.forward(ctx, dy)


class SyncedNorm(ChannelNorm):
    """Batch norm over all processes: they exchange sums and counts."""

    def whole(self, rows):
        total = torch.cat([rows.sum(0), torch.full((1,), len(rows)).to(rows)])
        total = _SumOverProcesses.apply(total)
        return total[:-1] / total[-1]

    def forward(self, x):
        if not torch.distributed.is_initialized():
            return super().forward(x)
        rows = x.movedim(1, -1).reshape(-1, 4)
        mean = self.whole(rows)
        x_hat = (x - mean[:, None]) / (self.whole((rows - mean).square())[:, None] + 1e-5).sqrt()
        return self.scale(x_hat)


TWO = {
    "batch norm": (ChannelNorm, False, True),
    "synchronized": (SyncedNorm, True, True),
    "not synchronized": (ChannelNorm, True, False),
}


@pytest.mark.parametrize("name", TWO)
def test_two_processes(name, tmp_path):
    make, synced, right = TWO[name]
    norm = BATTERY.Norm(make, lambda: nn.BatchNorm1d(4))
    if right:
        two_processes(norm, tmp_path, synced)
    else:
        with pytest.raises(AssertionError, match="^(output|dx|dgamma)"):
            two_processes(norm, tmp_path, synced)


def test_the_running_statistics_differ_until_the_next_forward_pass(tmp_path):
    """Lesson 12 says so, and that SyncBatchNorm refuses a CPU."""
    norm = BATTERY.Norm(lambda: nn.BatchNorm1d(4), lambda: nn.BatchNorm1d(4))
    (_, first, _), (_, second, later) = two_processes(norm, tmp_path, synced=False)
    assert not torch.allclose(first[0], second[0])
    mean = BATTERY.draw(norm)[5:].mean((0, 2))
    torch.testing.assert_close(later[0], 0.9 * first[0] + 0.1 * mean)
    norm.make = lambda: nn.SyncBatchNorm(4)
    (tmp_path / "again").mkdir()
    with pytest.raises(Exception, match="SyncBatchNorm layers only work with GPU modules"):
        two_processes(norm, tmp_path / "again", synced=True)


def test_the_file_runs_under_pytest(tmp_path):
    saved = tmp_path / "test_my_norm.py"
    saved.write_text(FILE.read_text(encoding="utf-8"), encoding="utf-8")
    assert pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(saved)]) == 0
