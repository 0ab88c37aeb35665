"""Rules of torch's losses: each by its formula, element by element, with its weights and its reduction."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.call import Call
from npdec._law import law
from npdec._law.reverse_forms import affine_in_first
from npdec._rules import losses_reverse as short
from npdec._rules.by_formula import by_formula, pointwise, value_of
from npdec._rules.losses_of_few import either, of_few
from npdec._rules.losses_reverse import of_elements
from npdec._rules.rows_compared import similarity, triplet
from npdec._rules.rule import rule

Function = Callable[..., Any]
# torch's numbers of reductions; 2 is the sum. Called without one, these functions of torch (not those of
# torch.nn.functional, which give one) do not reduce, though their schemas say Mean.
_NONE, _MEAN = 0, 1


def _reduced(loss: Any, reduction: int) -> Any:
    if reduction == _NONE:
        return loss
    return loss.mean() if reduction == _MEAN else loss.sum()


def _weighted(loss: Any, weight: Any) -> Any:
    return loss if weight is None else loss * weight


# -- distances of two numbers ------------------------------------------------------------------------------------------


def _number(x: Any) -> Any:
    """Booleans, which torch's losses take and its subtraction does not, as numbers; anything else as it is."""
    return x.to(torch.uint8) if x.dtype is torch.bool else x


def _l1_loss(input: Any, target: Any, reduction: int = _NONE) -> Any:
    return _reduced((_number(input) - _number(target)).abs(), reduction)


def _mse_loss(input: Any, target: Any, reduction: int = _NONE) -> Any:
    return _reduced((_number(input) - _number(target)).square(), reduction)


def _smooth_l1_loss(input: Any, target: Any, reduction: int = _NONE, beta: float = 1.0) -> Any:
    def f(d: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(d, torch.zeros_like(d), reduction="none", beta=beta)

    return _reduced(pointwise(f, _number(input) - _number(target)), reduction)


def _huber_loss(input: Any, target: Any, reduction: int = _NONE, delta: float = 1.0) -> Any:
    def f(d: torch.Tensor) -> torch.Tensor:
        return F.huber_loss(d, torch.zeros_like(d), reduction="none", delta=delta)

    return _reduced(pointwise(f, _number(input) - _number(target)), reduction)


# -- likelihoods -------------------------------------------------------------------------------------------------------


def _bounded_log(p: torch.Tensor) -> torch.Tensor:
    return p.log().clamp(min=-100)


def _binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: int = _NONE) -> Any:
    loss = target * pointwise(_bounded_log, input) + (1 - target) * pointwise(_bounded_log, 1 - input)
    return _reduced(_weighted(-loss, weight), reduction)


def _binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = _NONE
) -> Any:
    penalty = -F.logsigmoid(input)
    if pos_weight is not None:
        penalty = (1 + (pos_weight - 1) * target) * penalty
    return _reduced(_weighted((1 - target) * input + penalty, weight), reduction)


def _kl_div(input: Any, target: Any, reduction: int = _NONE, *, log_target: bool = False) -> Any:
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = -torch.special.entr(target) - target * input
    return _reduced(loss, reduction)


def _stirling(n: torch.Tensor) -> torch.Tensor:
    safe = torch.where(n > 1, n, torch.ones_like(n))
    return torch.where(n > 1, safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log(), torch.zeros_like(n))


def _poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        loss = loss + pointwise(_stirling, target)
    return _reduced(loss, reduction)


# -- margins -----------------------------------------------------------------------------------------------------------


def _margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = _NONE) -> Any:
    return _reduced(F.relu(-target * (input1 - input2) + margin), reduction)


def _hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = _NONE) -> Any:
    loss = torch.where(target != 1, F.relu(margin - input), 0) + torch.where(target != -1, input, 0)
    return _reduced(loss, reduction)


def _cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = _NONE) -> Any:
    dim = target.ndim
    tiny = 1e-12
    squares = (input1.square().sum(dim) + tiny) * (input2.square().sum(dim) + tiny)
    cosine = (input1 * input2).sum(dim) / squares.sqrt()
    loss = torch.where(target == 1, 1 - cosine, 0) + torch.where(target == -1, F.relu(cosine - margin), 0)
    return _reduced(loss, reduction)


def _soft_margin_loss(input: Any, target: Any, reduction: int = _NONE) -> Any:
    return _reduced(-F.logsigmoid(target * input), reduction)


def _multi_margin_loss(
    input: Any, target: Any, p: float = 1, margin: float = 1, weight: Any = None, reduction: int = _NONE
) -> Any:
    scores = input if input.ndim > 1 else input.reshape(1, -1)
    index = target.reshape(-1, 1)

    def f(d: torch.Tensor) -> torch.Tensor:
        return d.clamp(min=0) ** p

    losses = pointwise(f, margin - scores.gather(1, index) + scores)
    if weight is not None:
        losses = losses * weight[index]
    own = torch.arange(scores.shape[1], device=index.device) == index
    losses = torch.where(own, 0, losses).sum(1) / scores.shape[1]
    return _reduced(losses if target.ndim else losses.reshape(()), reduction)


def _multilabel_margin_loss(input: Any, target: Any, reduction: int = _NONE) -> Any:
    scores = input if input.ndim > 1 else input.reshape(1, -1)
    labels = target.reshape(scores.shape)
    named = (labels >= 0).cumprod(1).bool()  # up to the first -1
    wanted = torch.zeros_like(value_of(scores), dtype=torch.bool)
    wanted |= (F.one_hot(labels.clamp(min=0), scores.shape[1]).bool() & named[:, :, None]).any(1)
    chosen = scores.gather(1, labels.clamp(min=0))
    losses = F.relu(1 - (chosen[:, :, None] - scores[:, None, :]))
    counted = named[:, :, None] & ~wanted[:, None, :]
    losses = torch.where(counted, losses, 0).sum((1, 2)) / scores.shape[1]
    return _reduced(losses if input.ndim > 1 else losses.reshape(()), reduction)


def _triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = _NONE,
) -> Any:
    near = torch.pairwise_distance(anchor, positive, p, eps)
    far = torch.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, torch.pairwise_distance(positive, negative, p, eps))
    return _reduced(F.relu(margin + near - far), reduction)


# -- classes -----------------------------------------------------------------------------------------------------------


def _picked(input: Any, target: torch.Tensor, weight: Any, ignored: torch.Tensor) -> tuple[Any, Any]:
    """What the input has for each target, and the target's weight; zero for the ignored ones."""
    axis = 0 if input.ndim == 1 else 1
    index = torch.where(ignored, 0, target).long()  # torch takes bytes too, as indices of masks
    found = input.gather(axis, index.unsqueeze(axis)).squeeze(axis)
    weights = torch.ones_like(value_of(input).sum(axis)) if weight is None else weight[index]
    return torch.where(ignored, 0, found), torch.where(ignored, 0, weights)


def _nll_loss(input: Any, target: Any, weight: Any = None, reduction: int = _NONE, ignore_index: int = -100) -> Any:
    found, weights = _picked(input, target, weight, target == ignore_index)
    losses = -found * weights
    return losses.sum() / weights.sum() if reduction == _MEAN else _reduced(losses, reduction)


def _cross_entropy_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    reduction: int = _NONE,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    axis = 0 if input.ndim == 1 else 1
    classes = input.shape[axis]
    logs = F.log_softmax(input, axis)
    scales = weight
    if weight is not None and input.ndim > 1:
        scales = weight.reshape([-1 if i == 1 else 1 for i in range(input.ndim)])
    if target.shape == input.shape:  # probabilities
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        losses = -_weighted(logs * target, scales).sum(axis)
        return losses.sum() / max(1, losses.numel()) if reduction == _MEAN else _reduced(losses, reduction)
    made = _nll_loss(logs, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return made
    ignored = target == ignore_index
    smooth = torch.where(ignored, 0, -_weighted(logs, scales).sum(axis))
    if reduction == _MEAN:
        smooth = smooth.sum() / _picked(input, target, weight, ignored)[1].sum()
    else:
        smooth = _reduced(smooth, reduction)
    return (1 - label_smoothing) * made + smooth * (label_smoothing / classes)


# -- sequences ---------------------------------------------------------------------------------------------------------


class _Spelled(torch.autograd.Function):
    """The losses of torch's kernel with their derivative by the logarithms of probabilities: the kernel's own is by the
    numbers before a log-softmax."""

    generate_vmap_rule = True

    @staticmethod
    def forward(log_probs: torch.Tensor, options: tuple[Any, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        targets, input_lengths, target_lengths, blank = options
        losses, alpha = torch._ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, False)
        slopes = torch.ops.aten._ctc_loss_backward(
            torch.ones_like(losses), log_probs, targets, input_lengths, target_lengths, losses, alpha, blank, False
        )
        steps = torch.as_tensor(input_lengths, device=log_probs.device).reshape(-1)
        inside = torch.arange(log_probs.shape[0], device=log_probs.device)[:, None] < steps
        inside = (inside & torch.isfinite(losses)).reshape(log_probs.shape[:-1])
        return losses, torch.where(inside.unsqueeze(-1), slopes - log_probs.exp(), 0)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])

    @staticmethod
    def jvp(ctx: Any, change: torch.Tensor, _: Any) -> Any:
        (slopes,) = ctx.saved_tensors
        return (slopes * change).sum((0, -1)), None

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, _: Any) -> Any:
        (slopes,) = ctx.saved_tensors
        return slopes * grad.unsqueeze(-1), None


@rule(torch.ctc_loss)
def _ctc_rule(
    func: Function,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = _NONE,
    zero_infinity: bool = False,
) -> Any:
    """By quadrature; where the contributions themselves are differentiated, of the recursion."""
    args = (log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
    call = Call(func, {0: "Smooth"}, args, {})
    (x,) = call.tensors
    graph = torch.is_grad_enabled() and not x.reverse and (x.value.requires_grad or x.residual.requires_grad)
    # torch has no batched kernel.
    return law.quadrature(call, _DIFFERENTIABLE) if graph else law.quadrature(call, _FAST, one_by_one=True)


def _ctc(losses: Function) -> Function:
    """ctc_loss by a function that gives the loss of each sequence, infinite where the targets do not fit into it."""

    def ctc_loss(
        log_probs: torch.Tensor,
        targets: torch.Tensor,
        input_lengths: Any,
        target_lengths: Any,
        blank: int = 0,
        reduction: int = _NONE,
        zero_infinity: bool = False,
    ) -> torch.Tensor:
        single = log_probs.ndim == 2
        if single:
            log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
        steps, sizes = (torch.as_tensor(n, device=targets.device).reshape(-1) for n in (input_lengths, target_lengths))
        found: torch.Tensor = losses(log_probs, targets, steps, sizes, blank)
        if single:
            found = found.squeeze(0)
        if zero_infinity:
            found = torch.where(torch.isinf(found), 0, found)
        if reduction == _MEAN:
            return (found / sizes.clamp(min=1).to(found.dtype)).mean()
        return found.sum() if reduction != _NONE else found

    return ctc_loss


def _by_torch(log_probs: torch.Tensor, *rest: Any) -> torch.Tensor:
    made: tuple[torch.Tensor, ...] = _Spelled.apply(log_probs, rest)
    return made[0]


def _by_recursion(
    log_probs: torch.Tensor, targets: torch.Tensor, steps: torch.Tensor, sizes: torch.Tensor, blank: int
) -> torch.Tensor:
    """Graves et al., "Connectionist temporal classification" (2006), equations 6 to 8: the probability of all the ways
    to spell the targets, with blanks between, as logarithms."""
    device, count, longest = log_probs.device, log_probs.shape[1], int(sizes.max())
    if targets.ndim == 2:
        padded = targets[:, :longest]
    else:
        padded = torch.nn.utils.rnn.pad_sequence(list(targets.split(sizes.tolist())), True)
    inside = torch.arange(longest, device=device) < sizes[:, None]
    padded = torch.where(inside, padded, blank).long()
    spelled = torch.full((count, 2 * longest + 1), blank, dtype=torch.int64, device=device)
    spelled[:, 1::2] = padded
    never = torch.finfo(log_probs.dtype).min / 8
    jump = torch.zeros_like(spelled, dtype=torch.bool)
    jump[:, 2:] = (spelled[:, 2:] != blank) & (spelled[:, 2:] != spelled[:, :-2])
    at = log_probs.gather(2, spelled.expand(log_probs.shape[0], *spelled.shape))
    places = torch.arange(spelled.shape[1], device=device)
    alpha = torch.where(places < 2, at[0], never)
    for t in range(1, log_probs.shape[0]):
        one = F.pad(alpha, (1, 0), value=never)[:, :-1]
        two = torch.where(jump, F.pad(alpha, (2, 0), value=never)[:, :-2], never)
        moved = (torch.logsumexp(torch.stack([alpha, one, two]), 0) + at[t]).clamp(min=never)
        alpha = torch.where((t < steps)[:, None], moved, alpha)
    last = alpha.gather(1, (2 * sizes)[:, None])
    before = torch.where((sizes > 0)[:, None], alpha.gather(1, (2 * sizes - 1).clamp(min=0)[:, None]), never)
    losses = -torch.logsumexp(torch.cat([last, before], 1), 1)
    return torch.where(losses.detach() > -never / 2, torch.inf, losses)


_FAST, _DIFFERENTIABLE = _ctc(_by_torch), _ctc(_by_recursion)


def _of_several(formula: Function) -> Function:
    return partial(short.by_formula, formula)


_PAIR = "input target reduction"
_WEIGHTED, _OF_LOGITS = "input target weight reduction", "input target weight pos_weight reduction"
_MAGNITUDE = of_few(_PAIR, "magnitude", of_elements(_PAIR, short.magnitude, ("magnitude", "")))
_SQUARE = of_few(_PAIR, "square", of_elements(_PAIR, short.square, ("square", "")))
_SMOOTH = of_few(f"{_PAIR} beta", "smooth", of_elements(f"{_PAIR} beta", short.smooth, ("smooth", "beta")))
_HUBER = of_few(f"{_PAIR} delta", "huber", of_elements(f"{_PAIR} delta", short.huber, ("huber", "delta")))
_PROBABILITIES = of_elements(_WEIGHTED, short.probabilities, low=short.of_equal_probabilities)
_LOGITS, _MARGIN = of_elements(_OF_LOGITS, short.logits), of_elements(_PAIR, short.margin)
rule(torch._C._nn.l1_loss, reverse=_MAGNITUDE)(by_formula(_l1_loss))
rule(torch._C._nn.mse_loss, reverse=_SQUARE)(by_formula(_mse_loss))
rule(torch._C._nn.smooth_l1_loss, reverse=_SMOOTH)(by_formula(_smooth_l1_loss))
rule(torch._C._nn.huber_loss, reverse=_HUBER)(by_formula(_huber_loss))
rule(
    torch._C._nn.binary_cross_entropy,
    reverse=of_few(_WEIGHTED, "probabilities", _PROBABILITIES, torch.log, None),
)(by_formula(_binary_cross_entropy))
rule(
    torch.binary_cross_entropy_with_logits,
    reverse=of_few(_OF_LOGITS, "logits", _LOGITS, F.logsigmoid),
)(by_formula(_binary_cross_entropy_with_logits))
rule(torch.kl_div, reverse=affine_in_first)(by_formula(_kl_div))
rule(torch.poisson_nll_loss, reverse=of_elements("input target log_input full eps reduction", short.counts))(
    by_formula(_poisson_nll_loss)
)
rule(torch.margin_ranking_loss, reverse=_of_several(_margin_ranking_loss))(by_formula(_margin_ranking_loss))
rule(torch.hinge_embedding_loss, reverse=_of_several(_hinge_embedding_loss))(by_formula(_hinge_embedding_loss))
rule(torch.cosine_embedding_loss, reverse=either(similarity, _of_several(_cosine_embedding_loss)))(
    by_formula(_cosine_embedding_loss)
)
rule(torch._C._nn.soft_margin_loss, reverse=of_few(_PAIR, "margin", _MARGIN, F.logsigmoid))(
    by_formula(_soft_margin_loss)
)
rule(torch._C._nn.multi_margin_loss, reverse=short.margins, indices=(1, "target"))(by_formula(_multi_margin_loss))
rule(torch._C._nn.multilabel_margin_loss, indices=(1, "target"))(by_formula(_multilabel_margin_loss))
rule(torch.triplet_margin_loss, reverse=either(triplet, _of_several(_triplet_margin_loss)))(
    by_formula(_triplet_margin_loss)
)
rule("nll_loss_nd", reverse=affine_in_first, indices=(1, "target"))(by_formula(_nll_loss))
rule("cross_entropy_loss", reverse=short.cross_entropy, indices=(1, "target"))(by_formula(_cross_entropy_loss))
