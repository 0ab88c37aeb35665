/* The mean gradients of smooth functions of two numbers along the path, by the same steps as `npdec._law.means_of_few` and
 * `npdec._law.powers_of_few`, where they are explained. */
#include "means.h"
#include <float.h>
#include <math.h>

#define FAR 1e100 /* as there */
#define WANTED (1e-12 / 8)
#define MOST_PANELS 8
#define TERMS 40
#define LEAST 0x1p-10 /* `npdec._law.powers_at_zero` */
#define LEVELS 3
#define MOST_NODES 16
#define LOG_2 0.6931471805599453

typedef struct {
    double at[MOST_NODES], weight[MOST_NODES];
    Py_ssize_t count;
} Nodes;
static Nodes nodes[LEVELS];

int
set_mean_nodes(PyObject *const *levels)
{
    for (int which = 0; which < LEVELS; which++) {
        Py_ssize_t count = nodes[which].count = PyTuple_GET_SIZE(levels[which]);
        for (Py_ssize_t i = 0; i < count; i++)
            if (count > MOST_NODES
                || !PyArg_ParseTuple(PyTuple_GET_ITEM(levels[which], i), "dd", &nodes[which].at[i],
                                     &nodes[which].weight[i]))
                return PyErr_Occurred() != NULL ? 0 : (PyErr_SetString(PyExc_ValueError, "too many nodes"), 0);
    }
    return 1;
}

static double
largest(double x, double y, double r, double s)
{
    return fmax(fmax(fabs(x), fabs(y)), fmax(fabs(r), fabs(s)));
}

static int
of_hypot(double x, double y, double r, double s, double *means)
{
    double most = largest(x, y, r, s);
    if (!(1 / FAR < most && most < FAR))
        return 0;
    double dx = x - r, dy = y - s, length = hypot(dx, dy), ends = hypot(x, y) + hypot(r, s);
    if (length == 0) {
        means[0] = 2 * x / ends;
        means[1] = 2 * y / ends;
        return 1;
    }
    double along_x = dx / length, along_y = dy / length, mean = ((x + r) * along_x + (y + s) * along_y) / ends;
    double foot = r * along_x + s * along_y, apart = r * along_y - s * along_x, potential, across = 0;
    if (apart != 0) {
        if (length < 0.9 * ends)
            potential = 2 * atanh(length / ends) / length;
        else {
            double last = foot + length, square = apart * apart;
            double outer = hypot(r, s) + fabs(foot), beyond = hypot(x, y) + fabs(last);
            double gap = (foot > 0 ? outer : square / outer) + (last < 0 ? beyond : square / beyond);
            potential = log((ends + length) / gap) / length;
        }
        across = apart * potential;
    }
    means[0] = mean * along_x + across * along_y;
    means[1] = mean * along_y - across * along_x;
    return 1;
}

/* The angle of (x, y), whose first argument is y. */
static int
of_angle(double y, double x, double s, double r, double fx, double fr, double *means)
{
    double unit = largest(x, y, r, s);
    if (!(1 / FAR < unit && unit < FAR))
        return 0;
    x /= unit, y /= unit, r /= unit, s /= unit;
    double dx = x - r, dy = y - s, length = hypot(dx, dy), start = r * r + s * s, end = x * x + y * y;
    if (length == 0) {
        if (end == 0)
            return 0;
        means[0] = x / end / unit;
        means[1] = -y / end / unit;
        return 1;
    }
    int is_whole = fabs(r * y) + fabs(s * x) < fabs(r * dy) + fabs(s * dx);
    double cross = is_whole ? r * y - s * x : r * dy - s * dx, dot = r * x + s * y;
    if (start == 0 || end == 0 || (cross == 0 && dot < 0)) { /* through the origin */
        double lone_y = atan2(y, r), lone_x = atan2(s, x);
        means[0] = (dx == 0 ? fx - fr : (lone_y - fr + fx - lone_x) / 2) / (dy == 0 ? 1 : dy * unit);
        means[1] = (dy == 0 ? fx - fr : (lone_x - fr + fx - lone_y) / 2) / (dx == 0 ? 1 : dx * unit);
        return 1;
    }
    double change = (dx * (x + r) + dy * (y + s)) / start;
    double growth = (fabs(change) < 0.5 ? log1p(change) : log(end / start)) / 2 / length;
    double turn = atan2(cross, dot) / length, along_x = dx / length, along_y = dy / length;
    means[0] = (growth * along_x + turn * along_y) / unit;
    means[1] = (turn * along_x - growth * along_y) / unit;
    return 1;
}

static double
mean_sigmoid(double x, double r)
{
    double low = r < x ? r : x, high = r > x ? r : x, step = high - low;
    if (step <= 1) {
        double start = low > 0 ? 1 / (1 + exp(-low)) : exp(low) / (1 + exp(low));
        return step != 0 ? log1p(start * expm1(step)) / step : start;
    }
    if (low > 0)
        return (step + log1p(exp(-high)) - log1p(exp(-low))) / step;
    return ((high > 0 ? high : 0) + log1p(exp(-fabs(high))) - log1p(exp(low))) / step;
}

static int
of_xlogy(double x, double y, double r, double s, double *means)
{
    if (!(0 < s && s < INFINITY && 0 < y && y < INFINITY))
        return 0;
    double dx = x - r, dy = y - s, ratio = y / s;
    if (0.25 < ratio && ratio < 4) {
        const Nodes *its = &nodes[LEVELS - 1];
        means[0] = means[1] = 0;
        for (Py_ssize_t i = 0; i < its->count; i++) {
            double here = s + its->at[i] * dy;
            means[0] += its->weight[i] * log(here);
            means[1] += its->weight[i] * (r + its->at[i] * dx) / here;
        }
        return 1;
    }
    means[0] = (y * log(y) - s * log(s)) / dy - 1;
    means[1] = (dx + (r - s * (dx / dy)) * log(ratio)) / dy;
    return 1;
}

static int
of_xlog1py(double x, double y, double r, double s, double *means)
{
    if (!(-0.5 < y && y < 1 && -0.5 < s && s < 1))
        return of_xlogy(x, 1 + y, r, 1 + s, means);
    const Nodes *its = &nodes[LEVELS - 1];
    means[0] = means[1] = 0;
    for (Py_ssize_t i = 0; i < its->count; i++) {
        double here = s + its->at[i] * (y - s);
        means[0] += its->weight[i] * log1p(here);
        means[1] += its->weight[i] * (r + its->at[i] * (x - r)) / (1 + here);
    }
    return 1;
}

/* --- powers ------------------------------------------------------------------------------------------------------- */

static int
from_zero(double x, double y, double r, double s, double *means)
{
    double end = r == 0 ? x : r, v0 = r == 0 ? s : y, d = r == 0 ? y - s : s - y;
    if (!(end > 0) || !(v0 == 0 || v0 >= LEAST))
        return 0;
    double log_of = log(end), scale = pow(end, v0), total = 0, gross = 0, factor = 1;
    int k = 0, is_enough = 0;
    for (; k < TERMS && !is_enough; k++) {
        double a = v0 + k + 1, part = 1 / (v0 + k + 1), power = 1;
        for (int n = 1; n < k + 2; n++) {
            power *= log_of;
            part = (power - n * part) / a;
        }
        double term = factor * part;
        total += term;
        gross += fabs(term);
        factor *= d / (k + 1);
        is_enough = fabs(term) <= DBL_EPSILON * fabs(total) / 4 || factor == 0;
    }
    double change = pow(x, y) - pow(r, s), by_exponent = scale * total, moved = by_exponent * (y - s);
    if (!is_enough || DBL_EPSILON * scale * gross * fabs(y - s) > WANTED * (fabs(change) + fabs(moved)))
        return 0;
    means[0] = (change - moved) / (x - r);
    means[1] = by_exponent;
    return 1;
}

/* A piece of the path, and the power at its ends. */
typedef struct {
    double a, b, low, high;
} Panel;

static int
of_power(double x, double y, double r, double s, double *means)
{
    if (x < 0 || r < 0)
        return means_beside_negatives(x, y, r, s, means);
    if (x == 1 && r == 1)
        return means[0] = (y + s) / 2, means[1] = 0, 1;
    if (!(x > 0 && r > 0))
        return x >= 0 && r >= 0 && x != r && from_zero(x, y, r, s, means);
    double dx = x - r, dy = y - s, base = log(r), ratio = x > r ? x / r : r / x;
    const Nodes *its = &nodes[ratio < 2 ? 0 : ratio < 3.01 ? 1 : 2];
    int is_long = ratio > 5, count = 0, left = 1;
    double growth = is_long ? log(x / r) : 0, pace = is_long ? growth / dx : 0, even = 4 * pow(DBL_EPSILON, 0.375);
    double start = pow(r, s), end = pow(x, y);
    double before = start * (s * dx / r + base * dy), after = end * (y * dx / x + log(x) * dy);
    if ((dx != 0 || dy != 0) && fabs(before - after) <= even * fmax(fabs(before), fabs(after)))
        return 0;
    Panel todo[MOST_PANELS + 2] = {{0, 1, start, end}};
    means[0] = means[1] = 0;
    while (left > 0) {
        Panel panel = todo[--left];
        if (++count > MOST_PANELS)
            return 0;
        double length = panel.b - panel.a, of_base = 0, of_exponent = 0;
        for (Py_ssize_t i = 0; i < its->count; i++) {
            double t = panel.a + length * its->at[i];
            if (is_long) {
                double way = growth * t, u = r * exp(way), v = s + (u - r) / dx * dy, log_of = base + way;
                double p = its->weight[i] * exp(v * log_of);
                of_base += p * v;
                of_exponent += p * u * log_of;
            }
            else {
                double u = r + t * dx, v = s + t * dy, p = its->weight[i] * pow(u, v);
                of_base += p * v / u;
                of_exponent += p * log(u);
            }
        }
        of_base = is_long ? length * pace * of_base : length * of_base;
        of_exponent = is_long ? length * pace * of_exponent : length * of_exponent;
        double by_x = of_base * dx, by_y = of_exponent * dy, error = fabs(panel.high - panel.low - by_x - by_y);
        if (error <= fmax(WANTED * fmax(fabs(panel.low), fabs(panel.high)), 16 * DBL_EPSILON * (fabs(by_x) + fabs(by_y)))) {
            means[0] += of_base;
            means[1] += of_exponent;
            continue;
        }
        double middle = (panel.a + panel.b) / 2, u = is_long ? r * exp(growth * middle) : r + middle * dx;
        double between = pow(u, s + (is_long ? (u - r) / dx : middle) * dy);
        todo[left++] = (Panel){panel.a, middle, panel.low, between};
        todo[left++] = (Panel){middle, panel.b, between, panel.high};
    }
    return 1;
}

int
means_of(int which, double x, double y, double r, double s, double fx, double fr, double *means)
{
    double ahead = x - y, before = r - s;
    switch (which) {
    case MEAN_HYPOT: return of_hypot(x, y, r, s, means);
    case MEAN_ANGLE: return of_angle(x, y, r, s, fx, fr, means);
    case MEAN_LOGADDEXP2:
        ahead *= LOG_2, before *= LOG_2; /* fall through */
    case MEAN_LOGADDEXP:
        means[0] = mean_sigmoid(ahead, before);
        means[1] = mean_sigmoid(-ahead, -before);
        return 1;
    case MEAN_NEXT: return means[0] = 1, means[1] = 0, 1;
    case MEAN_POWER: return of_power(x, y, r, s, means);
    case MEAN_XLOGY: return of_xlogy(x, y, r, s, means);
    case MEAN_XLOG1PY: return of_xlog1py(x, y, r, s, means);
    default: return 0;
    }
}
