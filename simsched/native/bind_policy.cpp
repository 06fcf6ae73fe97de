#include "bind_policy.hpp"

#include "asked_policy.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

// A snapshot of the threads or tasks that a view shows. For Python it is a tuple that is made when it is
// needed.
struct Numbers {
    Numbers(nb::handle view, WatchedSet &of) : view(nb::borrow(view)), members(of) {}
    ~Numbers() {
        const nb::ft_object_guard locked(view);
        members.detach();
    }
    nb::object view; // has the set, lives as long, and is locked to look at the members
    Snapshot members;
};

Numbers &numbers(PyObject *self) { return *nb::inst_ptr<Numbers>(self); }

// `count` of them from the k-th, as a tuple.
nb::object tuple_of(Snapshot &members, std::size_t k, std::size_t count) {
    auto tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0, member = count ? members.nth(k) : 0; i < count; member = members.next(member + 1))
        PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i++), PyLong_FromSize_t(member));
    return tuple;
}

nb::object tuple_of(PyObject *self) {
    auto &[view, members] = numbers(self);
    const nb::ft_object_guard locked(view);
    return tuple_of(members, 0, members.size());
}

// What is no snapshot stays as it is.
nb::object plain(PyObject *object) {
    return nb::isinstance<Numbers>(object) ? tuple_of(object) : nb::borrow(object);
}

Py_ssize_t length(PyObject *self) { return static_cast<Py_ssize_t>(numbers(self).members.size()); }

PyObject *item(PyObject *self, Py_ssize_t k) {
    auto &[view, members] = numbers(self);
    const nb::ft_object_guard locked(view);
    if (k >= 0 && static_cast<std::size_t>(k) < members.size())
        return PyLong_FromSize_t(members.nth(static_cast<std::size_t>(k)));
    PyErr_SetString(PyExc_IndexError, "index out of range");
    return nullptr;
}

PyObject *subscript(PyObject *self, PyObject *key) {
    Py_ssize_t first, last, step;
    if (!PySlice_Check(key)) {
        const auto k = PyNumber_AsSsize_t(key, PyExc_IndexError);
        return k == -1 && PyErr_Occurred() ? nullptr : item(self, k < 0 ? k + length(self) : k);
    }
    if (PySlice_Unpack(key, &first, &last, &step))
        return nullptr;
    if (step != 1)
        return PyObject_GetItem(tuple_of(self).ptr(), key);
    const auto count = PySlice_AdjustIndices(length(self), &first, &last, step);
    auto &[view, members] = numbers(self);
    const nb::ft_object_guard locked(view);
    return tuple_of(members, static_cast<std::size_t>(first), static_cast<std::size_t>(count))
        .release()
        .ptr();
}

int contains(PyObject *self, PyObject *number) {
    std::int64_t i;
    if (!whole(number, i))
        return PySequence_Contains(tuple_of(self).ptr(), number);
    const auto &[view, members] = numbers(self);
    const nb::ft_object_guard locked(view);
    return i >= 0 && members.contains(static_cast<std::size_t>(i));
}

PyObject *compare(PyObject *self, PyObject *other, int by) {
    return PyObject_RichCompare(tuple_of(self).ptr(), plain(other).ptr(), by);
}

PyObject *joined(PyObject *a, PyObject *b) { return PyNumber_Add(plain(a).ptr(), plain(b).ptr()); }

Py_hash_t hash(PyObject *self) { return PyObject_Hash(tuple_of(self).ptr()); }

PyObject *shown(PyObject *self) { return PyObject_Repr(tuple_of(self).ptr()); }

struct Iterator {
    nb::object of;
    std::size_t from = 0;
};

PyObject *next(PyObject *self) {
    auto &iterator = *nb::inst_ptr<Iterator>(self);
    const auto &[view, members] = numbers(iterator.of.ptr());
    const nb::ft_object_guard locked(view);
    const auto member = members.next(iterator.from);
    if (member == OrderedSet::npos)
        return nullptr;
    iterator.from = member + 1;
    return PyLong_FromSize_t(member);
}

template <typename T> nb::handle type_of; // once it is bound

// Made in place: no copy, no allocation of its own.
template <typename T, typename... Arguments> nb::object made(Arguments &&...arguments) {
    auto object = nb::inst_alloc(type_of<T>);
    new (nb::inst_ptr<T>(object)) T{std::forward<Arguments>(arguments)...};
    nb::inst_mark_ready(object);
    return object;
}

PyObject *iterate(PyObject *self) { return made<Iterator>(nb::borrow(self)).release().ptr(); }

Result<std::int64_t> array_of(Numbers &self) {
    const nb::ft_object_guard locked(self.view);
    Column<std::int64_t> column(self.members.size());
    auto place = column.span().begin();
    for (auto i = self.members.next(0); i != OrderedSet::npos; i = self.members.next(i + 1))
        *place++ = static_cast<std::int64_t>(i);
    return column.release();
}

// Not exact: what only looks like the type of slots.
template <typename Function> void *slot(Function *function) { return reinterpret_cast<void *>(function); }

void bind_numbers(nb::module_ &m) {
    static PyType_Slot slots[] = {{Py_sq_length, slot(length)},
                                  {Py_mp_length, slot(length)},
                                  {Py_sq_item, slot(item)},
                                  {Py_mp_subscript, slot(subscript)},
                                  {Py_sq_contains, slot(contains)},
                                  {Py_tp_richcompare, slot(compare)},
                                  {Py_tp_hash, slot(hash)},
                                  {Py_tp_repr, slot(shown)},
                                  {Py_tp_iter, slot(iterate)},
                                  {Py_nb_add, slot(joined)},
                                  {0, nullptr}};
    static PyType_Slot steps[] = {
        {Py_tp_iter, slot(PyObject_SelfIter)}, {Py_tp_iternext, slot(next)}, {0, nullptr}};
    const auto type =
        nb::class_<Numbers>(m, "Numbers", nb::type_slots(slots),
                            "Ascending numbers of tasks or cores: a tuple, made when it is needed.")
            .def("index", [](nb::handle_t<Numbers> self,
                             const nb::args &what) { return tuple_of(self.ptr()).attr("index")(*what); })
            .def("count", [](nb::handle_t<Numbers> self,
                             nb::handle what) { return tuple_of(self.ptr()).attr("count")(what); })
            .def("__reduce__",
                 [](nb::handle_t<Numbers> self) {
                     return nb::make_tuple(nb::handle(&PyTuple_Type), nb::make_tuple(tuple_of(self.ptr())));
                 })
            .def(
                "__array__",
                [](Numbers &self, const nb::object &dtype, const nb::object &) {
                    return nb::cast(array_of(self)).attr("astype")(dtype, "copy"_a = false);
                },
                "dtype"_a.none() = "int64", "copy"_a.none() = nb::none());
    type_of<Numbers> = type;
    type_of<Iterator> = nb::class_<Iterator>(type, "Iterator", nb::type_slots(steps));
    nb::module_::import_("collections.abc").attr("Sequence").attr("register")(type);
}

nb::object running_of(nb::handle_t<PolicyView> self) {
    const auto &view = *nb::inst_ptr<PolicyView>(self);
    // First all of C++, then Python, which may let other threads go on with the replay.
    std::vector<std::pair<ReplayState::Run, std::span<const std::int32_t>>> runs;
    {
        const nb::ft_object_guard locked(self);
        view.state.each_running(
            [&](const ReplayState::Run &run) { runs.emplace_back(run, view.state.team(run.team)); });
    }
    nb::list running;
    for (const auto &[run, threads] : runs) {
        nb::list team;
        for (const auto thread : threads)
            team.append(thread);
        running.append(view.running_type(run.task, nb::tuple(team), run.finish_s));
    }
    return nb::tuple(running);
}

template <std::vector<std::int32_t> PolicyView::*Of> nb::tuple tasks_of(const PolicyView &view) {
    nb::list tasks;
    for (const auto task : view.*Of)
        tasks.append(task);
    return nb::tuple(tasks);
}

bool is_task(const PolicyView &view, nb::handle task, std::int64_t &t) {
    return whole(task, t) && t >= 0 && static_cast<std::size_t>(t) < view.state.n();
}

nb::object ready_s(nb::handle_t<PolicyView> self, nb::handle task) {
    const auto &view = *nb::inst_ptr<PolicyView>(self);
    std::int64_t t;
    if (is_task(view, task, t)) {
        const nb::ft_object_guard locked(self);
        if (const auto since = view.state.ready_s(static_cast<std::size_t>(t)); since != ReplayState::never)
            return nb::float_(since);
    }
    return view.checks.attr("ready_s")(task, self);
}

nb::object seconds(nb::handle_t<PolicyView> self, nb::handle task, nb::handle width, nb::handle core) {
    auto &view = *nb::inst_ptr<PolicyView>(self);
    std::int64_t t, w, c;
    const auto is_upto = [&](std::int64_t number, std::int64_t least) {
        return number >= least && static_cast<std::size_t>(number - least) < view.state.threads();
    };
    const auto by_width = core.is_none() || (!view.several_kinds && whole(core, c) && is_upto(c, 0));
    if (by_width && is_task(view, task, t) && whole(width, w) && is_upto(w, 1)) {
        const nb::ft_object_guard locked(self);
        return nb::float_(view.estimates(static_cast<std::size_t>(t), static_cast<std::size_t>(w)).seconds);
    }
    return view.checks.attr("seconds")(task, width, self, core);
}

template <double (ReplayState::*Of)(std::size_t) const>
std::optional<double> known_s(const PolicyView &view, nb::handle task) {
    std::int64_t t;
    const auto since = is_task(view, task, t) ? (view.state.*Of)(static_cast<std::size_t>(t)) : -1;
    return since < 0 ? std::nullopt : std::optional(since);
}

// What Python works out from where objects are.
template <std::size_t N> auto by_checks(const char (&name)[N]) {
    return [name = &name[0]](nb::handle_t<PolicyView> self, nb::handle task, nb::handle core) {
        return nb::object(nb::inst_ptr<PolicyView>(self)->checks.attr(name)(task, core, self));
    };
}

void bind_data(nb::class_<PolicyView> &view) {
    view.def("missing_B", by_checks("missing_B"), "task"_a, "core"_a)
        .def("fetch_s", by_checks("fetch_s"), "task"_a, "core"_a)
        .def(
            "free_B",
            [](nb::handle_t<PolicyView> self, nb::handle core) {
                return nb::object(nb::inst_ptr<PolicyView>(self)->checks.attr("free_B")(core, self));
            },
            "core"_a)
        .def(
            "is_near",
            [](const PolicyView &self, std::int32_t object, std::int32_t place) {
                return !self.data || self.data->is_near(object, place);
            },
            "one"_a, "place"_a, nb::lock_self(),
            "Return whether an object is at a place, or on its way there.")
        .def(
            "where",
            [](const PolicyView &self, std::int32_t object) {
                return self.data ? self.data->where(object) : nowhere;
            },
            "one"_a, nb::lock_self(), "Return whence an object is sent or read; -1 for nowhere.")
        .def(
            "on_way",
            [](const PolicyView &self, std::int32_t object, std::int32_t place) {
                return self.data ? self.data->on_way(object, place) : std::nullopt;
            },
            "one"_a, "place"_a, nb::lock_self(),
            "Return how far an object is on its way to a place; None where it is not.")
        .def(
            "far",
            [](const PolicyView &self, std::int32_t task, std::int32_t place) {
                return self.data ? self.data->far(task, place)
                                 : std::vector<std::pair<std::int32_t, std::int32_t>>();
            },
            "task"_a, "place"_a, nb::lock_self(),
            "Return the objects that a task would read from afar at a place, each with whence.")
        .def(
            "held_B",
            [](const PolicyView &self, std::int32_t place) {
                return self.data ? self.data->held_B(place) : 0;
            },
            "place"_a, nb::lock_self(),
            "Return the bytes taken at a place, where these are counted during the replay.");
}

void bind_view(nb::module_ &m) {
    auto view =
        nb::class_<PolicyView>(m, "PolicyView", "What a policy sees: see simsched.policy.View.")
            .def(
                "__init__",
                [](PolicyView *self, nb::object problem, nb::object checks, nb::object running,
                   std::size_t n_tasks, std::size_t cores, std::size_t cores_per_tile, std::size_t ways,
                   double delay_s, double per_poller_s, double resize_s, double resize_per_thread_s,
                   bool several_kinds) {
                    new (self)
                        PolicyView(problem, checks, running, n_tasks, cores, cores_per_tile, ways,
                                   {delay_s, per_poller_s, resize_s, resize_per_thread_s}, several_kinds);
                },
                nb::kw_only(), "problem"_a.none(), "checks"_a, "running"_a, "n_tasks"_a, "cores"_a,
                "cores_per_tile"_a, "ways"_a, "delay_s"_a, "per_poller_s"_a, "resize_s"_a,
                "resize_per_thread_s"_a, "several_kinds"_a = false)
            .def_prop_ro(
                "now_s", [](const PolicyView &view) { return view.now_s; }, nb::lock_self())
            .def_prop_ro(
                "ready",
                [](nb::handle_t<PolicyView> self) {
                    return made<Numbers>(self, nb::inst_ptr<PolicyView>(self)->state.ready());
                },
                nb::lock_self())
            .def_prop_ro("newly_ready", &tasks_of<&PolicyView::newly_ready>, nb::lock_self())
            .def_prop_ro("newly_finished", &tasks_of<&PolicyView::newly_finished>, nb::lock_self())
            .def_prop_ro("running", &running_of)
            .def_prop_ro(
                "idle_cores",
                [](nb::handle_t<PolicyView> self) {
                    return made<Numbers>(self, nb::inst_ptr<PolicyView>(self)->state.idle().all());
                },
                nb::lock_self())
            .def_ro("problem", &PolicyView::problem)
            .def_prop_ro("levels", [](const PolicyView &view) { return view.problem.attr("levels"); })
            .def("ready_s", &ready_s, "task"_a)
            .def("seconds", &seconds, "task"_a, "width"_a = 1, "core"_a = nb::none())
            .def("became_ready_s", &known_s<&ReplayState::ready_s>, "task"_a, nb::lock_self(),
                 "Return when a task became ready; None before.")
            .def("finished_s", &known_s<&ReplayState::finished_s>, "task"_a, nb::lock_self(),
                 "Return about when a task finished; None before.")
            .def(
                "teams",
                [](const PolicyView &view) {
                    const auto [indptr, indices] = view.state.teams();
                    return nb::make_tuple(copied(indptr), copied(indices));
                },
                nb::lock_self(),
                "Return every distinct team in order of first use, as indptr (int64) and indices (int32).");
    bind_data(view);
}

} // namespace

void bind_policy(nb::module_ &m) {
    // NumPy's integers are looked up now: threads that did so later, at once, might wait for each other.
    std::int64_t none;
    whole(nb::none(), none);
    bind_numbers(m);
    bind_view(m);
}

} // namespace simsched
