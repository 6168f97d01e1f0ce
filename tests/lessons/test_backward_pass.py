"""Gradients that lesson 09 teaches, against central differences and, where it is installed, PyTorch."""

import numpy as np
import pytest

from helpers import batch_norm, group_norm, layer_norm, numerical_gradient
from helpers.exercises import all_exercises


def test_image_group_norm_agrees_with_central_differences():
    rng = np.random.default_rng(0)
    (dy, x), gamma = rng.normal(size=(2, 3, 6, 4, 5)), rng.uniform(0.5, 2, 6)
    dx, dgamma, dbeta = all_exercises()["my_group_norm_backward"].reference(dy, x, 3, gamma)
    assert np.allclose(dx, numerical_gradient(lambda x: np.sum(dy * group_norm(x, 3, gamma).y), x), atol=1e-7)
    by_gamma = numerical_gradient(lambda g: np.sum(dy * group_norm(x, 3, g).y), gamma)
    assert np.allclose(dgamma, by_gamma, atol=1e-6)
    assert np.allclose(dbeta, dy.sum(axis=(0, 2, 3)))


@pytest.mark.parametrize("norm, axis", [(batch_norm, 0), (layer_norm, 1)])
def test_detached_statistics_give_gradient_g_over_s(norm, axis):
    """What the lesson says of `.detach()`: PyTorch then gives dy / s."""
    torch = pytest.importorskip("torch")
    dy, x = np.random.default_rng(1).normal(size=(2, 7, 5))
    x_t = torch.tensor(x, requires_grad=True)
    mean, var = x_t.mean(axis, keepdim=True).detach(), x_t.var(axis, unbiased=False, keepdim=True).detach()
    y = (x_t - mean) / torch.sqrt(var + 1e-5)
    y.backward(torch.tensor(dy))
    assert np.allclose(y.detach().numpy(), norm(x).y)
    assert np.allclose(x_t.grad.numpy(), dy / np.sqrt(norm(x).var + 1e-5))
