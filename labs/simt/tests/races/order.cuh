// Short names for the compiler's scoped atomics. Each use names its order and its scope.
#define STORE(order, scope, p, v) __nv_atomic_store_n(p, v, __NV_ATOMIC_##order, __NV_THREAD_SCOPE_##scope)
#define LOAD(order, scope, p) __nv_atomic_load_n(p, __NV_ATOMIC_##order, __NV_THREAD_SCOPE_##scope)
#define ADD(order, scope, p, v) __nv_atomic_fetch_add(p, v, __NV_ATOMIC_##order, __NV_THREAD_SCOPE_##scope)
#define EXCHANGE(order, scope, p, v) __nv_atomic_exchange_n(p, v, __NV_ATOMIC_##order, __NV_THREAD_SCOPE_##scope)
#define FENCE(scope) __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_##scope)
