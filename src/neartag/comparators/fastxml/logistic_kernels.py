"""Sparse linear separators: logistic regression with an L1 penalty, as kernels that train a node of a tree.

Yuan, Ho, Lin, "An improved GLMNET for L1-regularized logistic regression", JMLR 2012, the algorithm of liblinear:

    min over w of ‖w‖₁ + Σᵢ cᵢ log(1 + exp(−δᵢ ⟨w, xᵢ⟩)),   cᵢ = c₊ or c₋ by the side δᵢ

Newton steps; each one's quadratic model is minimised by coordinate descent over the columns, and a line search along
the result keeps the objective falling. Columns whose weight is zero and will likely stay so are left out of both loops
until the others have converged.

Cost: a pass over the entries of the columns that are left in, a few passes a Newton step. Memory: some numbers a point
and a column.
"""

from __future__ import annotations

import numpy as np

from neartag.core import kernel_types as types
from neartag.core.jit import COUNT, ID, IDS, POINTER, VALUES, kernel, read
from neartag.linalg.random_kernels import STATE, shuffle

WIDE, SIDES = types.float64, read(types.int8)
PLACE = types.uint32  # row numbers without sign: numba need not ask whether one counts from the end, thrice as quick
COLUMNS = types.Tuple((POINTER, read(PLACE), VALUES))  # the arrays of a CSC matrix: pointer, rows, values
COSTS = types.UniTuple(WIDE, 2)  # of an error on the plus side, and on the minus side
_MAX_PASSES = 10  # of coordinate descent a Newton step, at most
_MAX_HALVINGS = 20  # of a step in its line search, at most
_MIN_DECREASE_SHARE = 0.01  # share of the decrease that a step promises which it must bring
_ADDED_CURVATURE = 1e-12  # added to each curvature, which is zero where every point is far from the boundary
_MAX_MOVE = 10.0  # of a weight in a pass: where there is hardly any curvature the model is good only nearby


@kernel(WIDE(COLUMNS, COUNT, read(WIDE)), fastmath=True)
def _dot(columns, j, vector):
    """Return ⟨column j, vector⟩; a column without zeros needs no look at its row numbers."""
    pointer, rows, values = columns
    places, entries = rows[pointer[j] : pointer[j + 1]], values[pointer[j] : pointer[j + 1]]
    total = 0.0
    if places.shape[0] == vector.shape[0]:
        for k in range(places.shape[0]):
            total += entries[k] * vector[k]
    else:
        for k in range(places.shape[0]):
            total += entries[k] * vector[places[k]]
    return total


@kernel(types.UniTuple(WIDE, 2)(COLUMNS, COUNT, read(WIDE), read(WIDE)), fastmath=True)
def _slope_and_curvature(columns, j, slope, curve):
    """Return ⟨column j, slope⟩ and ⟨column j squared, curve⟩."""
    pointer, rows, values = columns
    places, entries = rows[pointer[j] : pointer[j + 1]], values[pointer[j] : pointer[j + 1]]
    first, second = 0.0, 0.0
    if places.shape[0] == slope.shape[0]:
        for k in range(places.shape[0]):
            value = np.float64(entries[k])
            first += value * slope[k]
            second += value * value * curve[k]
    else:
        for k in range(places.shape[0]):
            value = np.float64(entries[k])
            first += value * slope[places[k]]
            second += value * value * curve[places[k]]
    return first, second


@kernel(types.void(COLUMNS, COUNT, WIDE, read(WIDE), WIDE[::1]))
def _add_scaled(columns, j, factor, scale, out):
    """out += factor · scale · column j, `scale` a number a row."""
    pointer, rows, values = columns
    places, entries = rows[pointer[j] : pointer[j + 1]], values[pointer[j] : pointer[j + 1]]
    if places.shape[0] == out.shape[0]:
        for k in range(places.shape[0]):
            out[k] += factor * entries[k] * scale[k]
    else:
        for k in range(places.shape[0]):
            out[places[k]] += factor * entries[k] * scale[places[k]]


@kernel(types.void(COLUMNS, COUNT, WIDE, WIDE[::1]))
def add_column(columns, j, factor, out):
    """out += factor · column j."""
    pointer, rows, values = columns
    places, entries = rows[pointer[j] : pointer[j + 1]], values[pointer[j] : pointer[j + 1]]
    for k in range(places.shape[0]):
        out[places[k]] += factor * entries[k]


@kernel(WIDE(WIDE, WIDE))
def _violation(slope, weight):
    """Return how far a weight is from its optimality condition: slope = −sign(weight), or |slope| ≤ 1 at zero."""
    if weight == 0.0:
        return max(0.0, abs(slope) - 1.0)
    return abs(slope + 1.0) if weight > 0.0 else abs(slope - 1.0)


@kernel(WIDE(WIDE, WIDE, WIDE))
def _move(slope, curvature, weight):
    """Return the move z that minimises slope · z + curvature / 2 · z² + |weight + z|."""
    if slope + 1.0 <= curvature * weight:
        move = -(slope + 1.0) / curvature
    elif slope - 1.0 >= curvature * weight:
        move = -(slope - 1.0) / curvature
    else:
        return -weight
    return min(max(move, -_MAX_MOVE), _MAX_MOVE)


@kernel(WIDE(read(WIDE), SIDES, COSTS))
def log_loss(reach, sides, costs):
    """Return Σᵢ cᵢ log(1 + exp(−δᵢ reachᵢ))."""
    cost_plus, cost_minus = costs
    total = 0.0
    for i in range(reach.shape[0]):
        margin = reach[i] if sides[i] > 0 else -reach[i]
        cost = cost_plus if sides[i] > 0 else cost_minus
        total += cost * (max(0.0, -margin) + np.log1p(np.exp(-abs(margin))))
    return total


@kernel(types.void(read(WIDE), SIDES, COSTS, WIDE[::1], WIDE[::1]))
def _derivatives(reach, sides, costs, slope, curve):
    """Fill in the first and second derivative of each point's loss by its reach."""
    cost_plus, cost_minus = costs
    for i in range(reach.shape[0]):
        doubt = 1.0 / (1.0 + np.exp(reach[i]))  # how likely the point belongs to the minus side
        if sides[i] > 0:
            slope[i], curve[i] = -cost_plus * doubt, cost_plus * doubt * (1.0 - doubt)
        else:
            slope[i], curve[i] = cost_minus * (1.0 - doubt), cost_minus * doubt * (1.0 - doubt)


MODEL = types.Tuple((read(WIDE), read(WIDE), read(WIDE)))  # the quadratic model: curve, gradient, diagonal


@kernel(types.int64(COLUMNS, MODEL, read(WIDE), ID[::1], COUNT, WIDE, WIDE[::1], STATE))
def _descend(columns, model, weights, order, count, tolerance, moved, random):
    """Minimise the quadratic model over the columns order[:count] from `moved` = weights; returns the passes made."""
    curve, gradient, diagonal = model
    n = curve.shape[0]
    pull = np.zeros(n)  # the curvature times how far each point has moved
    left, widest, made = count, np.inf, 0
    while made < _MAX_PASSES:
        made += 1
        total, largest, place = 0.0, 0.0, 0
        shuffle(order, left, random)
        while place < left:
            j = order[place]
            slope = gradient[j] + _ADDED_CURVATURE * (moved[j] - weights[j]) + _dot(columns, j, pull)
            wrong = _violation(slope, moved[j])
            if moved[j] == 0.0 and wrong == 0.0 and 1.0 - abs(slope) > widest / n:
                left -= 1
                order[place], order[left] = order[left], order[place]
                continue
            place += 1
            total, largest = total + wrong, max(largest, wrong)
            move = _move(slope, diagonal[j], moved[j])
            if abs(move) > 1e-12:
                moved[j] += move
                _add_scaled(columns, j, move, curve, pull)
        if total > tolerance:
            widest = largest
        elif left == count:
            break
        else:  # converged but for the columns left out
            left, widest = count, np.inf
    return made


@kernel(
    types.Tuple((COUNT, WIDE, WIDE))(
        COLUMNS, read(WIDE), read(WIDE), read(WIDE), ID[::1], COUNT, WIDE, WIDE[::1], WIDE[::1]
    )
)
def _fill_model(columns, slope, curve, weights, active, count, widest, gradient, diagonal):
    """Fill in the gradient and the diagonal of the columns active[:count]; returns how many of these are left in.

    Those whose weight is zero, and will likely stay so, are moved behind the others. Also returns the sum of the
    violations of the optimality conditions, and the largest.
    """
    total, largest, place = 0.0, 0.0, 0
    while place < count:
        j = active[place]
        gradient[j], curvature = _slope_and_curvature(columns, j, slope, curve)
        wrong = _violation(gradient[j], weights[j])
        if weights[j] == 0.0 and wrong == 0.0 and 1.0 - abs(gradient[j]) > widest / slope.shape[0]:
            count -= 1
            active[place], active[count] = active[count], active[place]
            continue
        diagonal[j] = curvature + _ADDED_CURVATURE
        place += 1
        total, largest = total + wrong, max(largest, wrong)
    return count, total, largest


@kernel(WIDE(COLUMNS, IDS, read(WIDE), read(WIDE), read(WIDE), WIDE[::1]))
def _look_ahead(columns, active, gradient, weights, moved, shift):
    """Put what the move from the weights does to each point's reach into `shift`; returns the decrease it promises."""
    promise, shift[:] = 0.0, 0.0
    for place in range(active.shape[0]):
        j = active[place]
        move = moved[j] - weights[j]
        if move != 0.0:
            promise += gradient[j] * move + abs(moved[j]) - abs(weights[j])
            add_column(columns, j, move, shift)
    return promise


@kernel(WIDE(IDS, read(WIDE), read(WIDE), WIDE))
def _penalty(active, weights, moved, size):
    """Return the penalty of the weights after a step of this size towards `moved`."""
    total = 0.0
    for place in range(active.shape[0]):
        j = active[place]
        total += abs(weights[j] + size * (moved[j] - weights[j]))
    return total


@kernel(types.void(IDS, WIDE, WIDE[::1], WIDE[::1]))
def _take_step(active, size, weights, moved):
    """Move the weights by a step of this size towards `moved`, and that back to the weights."""
    for place in range(active.shape[0]):
        j = active[place]
        if size == 1.0:
            weights[j] = moved[j]
        else:
            weights[j] += size * (moved[j] - weights[j])
            moved[j] = weights[j]


@kernel(COUNT(SIDES))
def count_plus(sides):
    """Return how many points are on the plus side."""
    count = 0
    for i in range(sides.shape[0]):
        count += sides[i] > 0
    return count


@kernel(types.int64(COLUMNS, SIDES, COSTS, WIDE, COUNT, WIDE[::1], WIDE[::1], STATE))
def l1_logistic(columns, sides, costs, tolerance, most, weights, reach, random):
    """Fill in the weights (columns,) and the reach ⟨w, xᵢ⟩ (points,) of the best separator; returns Newton steps made.

    Columns come as CSC, row numbers rising. It ends when the violations of the optimality conditions sum to `tolerance`
    times those at zero, less where one side is small, or after `most` steps.
    """
    n, width = reach.shape[0], weights.shape[0]
    weights[:], reach[:] = 0.0, 0.0
    slope, curve, shift, trial = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    gradient, diagonal, moved = np.empty(width), np.empty(width), np.zeros(width)
    active, order = np.arange(width).astype(np.int32), np.empty(width, np.int32)
    plus = count_plus(sides)
    tolerance *= max(1, min(plus, n - plus)) / n
    count, widest, begin, inner = width, np.inf, 0.0, 0.0
    loss, penalty = log_loss(reach, sides, costs), 0.0
    for step in range(most):
        _derivatives(reach, sides, costs, slope, curve)
        count, total, largest = _fill_model(columns, slope, curve, weights, active, count, widest, gradient, diagonal)
        if step == 0:
            begin = inner = total
        if total <= tolerance * begin:
            if count == width:
                return step
            count, widest = width, np.inf  # converged but for the columns left out
            continue
        widest = largest
        order[:count] = active[:count]
        passes = _descend(columns, (curve, gradient, diagonal), weights, order, count, inner, moved, random)
        if passes == 1:
            inner *= 0.25
        # The line search: f(w + s·d) ≤ f(w) + enough · s · promise.
        promise, size = _look_ahead(columns, active[:count], gradient, weights, moved, shift), 1.0
        for _ in range(_MAX_HALVINGS):
            new_penalty = _penalty(active[:count], weights, moved, size)
            for i in range(n):
                trial[i] = reach[i] + size * shift[i]
            new_loss = log_loss(trial, sides, costs)
            if new_loss + new_penalty - loss - penalty <= _MIN_DECREASE_SHARE * size * promise:
                break
            size *= 0.5
        else:  # no step is better: the columns left in are as near as the numbers' precision allows
            if count == width:
                return step
            moved[:] = weights
            count, widest = width, np.inf
            continue
        _take_step(active[:count], size, weights, moved)
        reach[:] = trial
        loss, penalty = new_loss, new_penalty
    return most
