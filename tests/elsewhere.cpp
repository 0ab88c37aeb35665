// A device that is not the host though the host computes for it: torch's PrivateUse1, named "elsewhere".
//
// Its memory is the host's, and each operation goes to the host's kernel by way of copies. What an accelerator refuses
// is refused here: operations on tensors of both devices, and kernels that CUDA lacks for unsigned integers. `waits`
// counts how often a program would have waited for an accelerator.

#include <cstdlib>
#include <set>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pybind11/pybind11.h>
#include <torch/library.h>

namespace {

constexpr auto KIND = c10::DeviceType::PrivateUse1;
const c10::Device HERE(KIND, 0);
const c10::DispatchKeySet KEYS(c10::DispatchKey::PrivateUse1);
int64_t waits = 0;

// -- memory, guards, generators ---------------------------------------------------------------------------------------

struct Memory final : c10::Allocator {
    c10::DataPtr allocate(size_t size) override {
        void *found = nullptr;
        TORCH_CHECK(!size || !posix_memalign(&found, 64, size), "no memory for ", size, " bytes");
        return {found, found, &std::free, HERE};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
    void copy_data(void *to, const void *from, std::size_t size) const override { memcpy(to, from, size); }
};
Memory memory;
REGISTER_ALLOCATOR(KIND, &memory);

struct Guard final : c10::impl::DeviceGuardImplInterface {
    static c10::Stream only() { return c10::Stream(c10::Stream::DEFAULT, HERE); }
    c10::DeviceType type() const override { return KIND; }
    c10::Device exchangeDevice(c10::Device) const override { return HERE; }
    c10::Device getDevice() const override { return HERE; }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::Stream getStream(c10::Device) const noexcept override { return only(); }
    c10::Stream getDefaultStream(c10::Device) const override { return only(); }
    c10::Stream exchangeStream(c10::Stream) const noexcept override { return only(); }
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }
    void record(void **, const c10::Stream &, const c10::DeviceIndex, const c10::EventFlag) const override {}
    void block(void *, const c10::Stream &) const override {}
    bool queryEvent(void *) const override { return true; }
    bool queryStream(const c10::Stream &) const override { return true; }
    void synchronizeStream(const c10::Stream &) const override {}
    void synchronizeEvent(void *) const override {}
    void synchronizeDevice(const c10::DeviceIndex) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Source : at::CPUGeneratorImpl {
    Source() : at::CPUGeneratorImpl(0) {
        device_ = HERE;
        key_set_ = KEYS;
    }
};

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::DeviceIndex deviceCount() const override { return 1; }
    c10::DeviceIndex getCurrentDevice() const override { return 0; }
    at::Device getDeviceFromPtr(void *) const override { return HERE; }
    const at::Generator &getDefaultGenerator(c10::DeviceIndex) const override {
        static at::Generator made = at::make_generator<Source>();
        return made;
    }
    at::Generator getNewGenerator(c10::DeviceIndex) const override { return at::make_generator<Source>(); }
    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t size) const override {
        at::native::resize_bytes_cpu(storage.unsafeGetStorageImpl(), size);
    }
};

// -- what needs no kernel ---------------------------------------------------------------------------------------------

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
    return at::detail::empty_generic_symint(size, &memory, KEYS, c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
    return at::detail::empty_strided_symint_generic(size, stride, &memory, KEYS, c10::dtype_or_default(dtype));
}

// A tensor of the host over the same memory.
at::Tensor seen_by_host(const at::Tensor &t) {
    if (!t.is_privateuseone())
        return t;
    c10::DataPtr data(t.storage().mutable_data(), c10::Device(c10::DeviceType::CPU));
    c10::Storage storage(c10::Storage::use_byte_size_t(), t.storage().nbytes(), std::move(data),
                         c10::GetCPUAllocator(), false);
    at::Tensor made = at::empty({0}, t.options().device(at::kCPU));
    made.set_(storage, t.storage_offset(), t.sizes(), t.strides());
    if (t.is_conj())
        made._set_conj(true);
    if (t.is_neg())
        made._set_neg(true);
    return made;
}

at::Tensor copy_from(const at::Tensor &self, const at::Tensor &to, bool) {
    waits += self.is_privateuseone() != to.is_privateuseone();
    seen_by_host(to).copy_(seen_by_host(self));
    return to;
}

at::Tensor copy_and_resize(const at::Tensor &self, const at::Tensor &to) {
    if (to.sizes() != self.sizes())
        to.resize_(self.sizes());
    return copy_from(self, to, false);
}

at::Tensor as_strided(const at::Tensor &self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
    std::optional<int64_t> start;
    if (offset)
        start = offset->expect_int();
    return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), start);
}

at::Tensor reshape_alias(const at::Tensor &self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
    return as_strided(self, size, stride, self.storage_offset());
}

at::Tensor view(const at::Tensor &self, c10::SymIntArrayRef size) {
    return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor unfold(const at::Tensor &self, int64_t dim, int64_t size, int64_t step) {
    return at::native::unfold(self, dim, size, step);
}

at::Tensor as_real(const at::Tensor &self) { return at::native::view_as_real(self); }

at::Tensor as_complex(const at::Tensor &self) { return at::native::view_as_complex(self); }

at::Scalar number(const at::Tensor &self) {
    waits++;
    return seen_by_host(self).item();
}

at::Tensor &set_part(at::Tensor &self, at::Storage source, c10::SymInt offset, c10::SymIntArrayRef size,
                     c10::SymIntArrayRef stride) {
    at::native::checkSetStorage(self, source, offset, size, stride, true);
    std::optional<at::IntArrayRef> strides;
    if (stride.data())
        strides = C10_AS_INTARRAYREF_SLOW(stride);
    self.unsafeGetTensorImpl()->set_storage_offset(offset.expect_int());
    at::native::resize_impl_cpu_(self.unsafeGetTensorImpl(), C10_AS_INTARRAYREF_SLOW(size), strides);
    return self;
}

at::Tensor &set_storage(at::Tensor &self, at::Storage source) {
    std::vector<c10::SymInt> size{static_cast<int64_t>(source.nbytes() / self.dtype().itemsize())};
    return set_part(self, source, 0, size, {});
}

at::Tensor &set_tensor(at::Tensor &self, const at::Tensor &source) {
    return set_part(self, source.storage(), source.sym_storage_offset(), source.sym_sizes(), source.sym_strides());
}

const at::Tensor &resize(const at::Tensor &self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat> format) {
    at::native::resize_impl_cpu_(self.unsafeGetTensorImpl(), C10_AS_INTARRAYREF_SLOW(size), std::nullopt);
    if (format)
        self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
    return self;
}

at::Tensor convolution(const at::Tensor &x, const at::Tensor &w, const std::optional<at::Tensor> &b, at::IntArrayRef s,
                       at::IntArrayRef p, at::IntArrayRef d, bool t, at::IntArrayRef o, int64_t g) {
    TORCH_CHECK(x.is_privateuseone() && w.is_privateuseone(), "convolution: tensors of two devices");
    std::optional<at::Tensor> bias;
    if (b && b->defined())
        bias = b->cpu();
    return at::convolution(x.cpu(), w.cpu(), bias, s, p, d, t, o, g).to(HERE);
}

// -- everything else --------------------------------------------------------------------------------------------------

// Operations that take tensors of the host beside those of a device, as on CUDA: copies, and indices.
const std::set<std::string> MIXED{"copy_", "_copy_from", "_copy_from_and_resize", "_to_copy", "tensor_split"};
const std::set<std::string> INDEXED{"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put"};
// Operations that do not even take one number of the host.
const std::set<std::string> STRICT{
    "addmm",  "addmv",      "baddbmm",     "bincount",     "bmm",       "bucketize",    "cat",       "dot",
    "gather", "histc",      "index_add",   "index_add_",   "index_copy", "index_copy_", "index_select", "isin",
    "masked_select", "mm",  "mv",          "put",          "put_",      "scatter",      "scatter_",  "scatter_add",
    "scatter_reduce", "searchsorted", "stack", "take",     "vdot"};
// Which CUDA does not have for unsigned integers of more than a byte.
const std::set<std::string> SIGNED_ONLY{
    "all", "any", "bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "gather", "index",   "index_put", "index_select",
    "lt",          "gt",         "masked_fill", "mul",          "remainder", "scatter", "sort"};

bool is_wide(at::ScalarType t) { return t == at::kUInt16 || t == at::kUInt32 || t == at::kUInt64; }

void by_host(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
    auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
    std::string name = op.operator_name().name.substr(6);  // behind "aten::"
    std::string root = name.back() == '_' ? name.substr(0, name.size() - 1) : name;
    bool strict = STRICT.count(name), indexed = INDEXED.count(name), here = false, host = false;
    auto look = [&](const at::Tensor &t, bool index) {
        if (!t.defined())
            return;
        here |= t.is_privateuseone();
        host |= t.is_cpu() && !index && (t.dim() || (strict && !t.unsafeGetTensorImpl()->is_wrapped_number()));
        TORCH_CHECK_NOT_IMPLEMENTED(!(is_wide(t.scalar_type()) && SIGNED_ONLY.count(root)), '"', root,
                                    "\" is not implemented elsewhere for ", t.scalar_type());
    };
    for (const c10::IValue &a : arguments) {
        if (a.isTensor())
            look(a.toTensor(), false);
        else if (a.isList())
            for (const c10::IValue &item : a.toListRef())
                if (item.isTensor())
                    look(item.toTensor(), indexed);
    }
    TORCH_CHECK(!(here && host) || MIXED.count(name), "Expected all tensors to be on the same device, but found at ",
                "least two devices, elsewhere:0 and cpu! (", name, ")");
    std::vector<std::pair<at::Generator, at::Generator>> sources;
    for (auto &a : arguments)
        if (a.isGenerator() && a.toGenerator().device().is_privateuseone()) {
            sources.emplace_back(a.toGenerator(), at::make_generator<at::CPUGeneratorImpl>(0));
            sources.back().second.set_state(sources.back().first.get_state());
            const_cast<c10::IValue &>(a) = c10::IValue(sources.back().second);
        }
    bool reads = name == "nonzero" || name == "masked_select" || name == "equal" || name.find("unique") != name.npos;
    int64_t before = waits + reads;
    at::native::cpu_fallback(op, stack, false);
    waits = before;
    for (auto &[own, theirs] : sources)
        own.set_state(theirs.get_state());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&by_host>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", TORCH_FN(empty));
    m.impl("empty_strided", TORCH_FN(empty_strided));
    m.impl("_copy_from", TORCH_FN(copy_from));
    m.impl("_copy_from_and_resize", TORCH_FN(copy_and_resize));
    m.impl("as_strided", TORCH_FN(as_strided));
    m.impl("_reshape_alias", TORCH_FN(reshape_alias));
    m.impl("view", TORCH_FN(view));
    m.impl("unfold", TORCH_FN(unfold));
    m.impl("view_as_real", TORCH_FN(as_real));
    m.impl("view_as_complex", TORCH_FN(as_complex));
    m.impl("_local_scalar_dense", TORCH_FN(number));
    m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_part));
    m.impl("set_.source_Storage", TORCH_FN(set_storage));
    m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
    m.impl("resize_", TORCH_FN(resize));
    m.impl("convolution_overrideable", TORCH_FN(convolution));
}

// A conjugate is copied as what it is: torch would copy it to find out.
void fall_through(torch::Library &m) {
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
    m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { fall_through(m); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { fall_through(m); }

}  // namespace

PYBIND11_MODULE(elsewhere_native, m) {
    static Hooks hooks;
    at::RegisterPrivateUse1HooksInterface(&hooks);
    m.def("waits", [] { return waits; });
}
