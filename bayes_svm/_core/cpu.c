/* What the CPU can do. Asked of the CPU itself: __builtin_cpu_supports does not work with every compiler. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(_MSC_VER) && defined(_M_X64)
#include <immintrin.h>
#include <intrin.h>
#define IS_X86_64 1

static void ask(unsigned leaf, unsigned *r) { __cpuidex((int *)r, (int)leaf, 0); }

static unsigned saved_registers(void) { return (unsigned)_xgetbv(0); }
#elif defined(__x86_64__)
#include <cpuid.h>
#define IS_X86_64 1

static void ask(unsigned leaf, unsigned *r) { __cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]); }

static unsigned saved_registers(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

#ifdef IS_X86_64
static int has(unsigned set, unsigned wanted) { return (set & wanted) == wanted; }

static int is_x86_64_v3(void) {
    unsigned r[4]; /* EAX, EBX, ECX, EDX */
    ask(0, r);
    if (r[0] < 7) return 0;
    /* FMA, MOVBE, OSXSAVE, AVX, F16C */
    ask(1, r);
    if (!has(r[2], 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29)) return 0;
    /* The operating system saves the registers of SSE and of AVX. */
    if (!has(saved_registers(), 6)) return 0;
    /* BMI1, AVX2, BMI2 */
    ask(7, r);
    if (!has(r[1], 1u << 3 | 1u << 5 | 1u << 8)) return 0;
    /* LZCNT */
    ask(0x80000000u, r);
    if (r[0] < 0x80000001u) return 0;
    ask(0x80000001u, r);
    return has(r[2], 1u << 5);
}
#else
static int is_x86_64_v3(void) { return 0; }
#endif

static PyObject *has_x86_64_v3(PyObject *self, PyObject *none) { return PyBool_FromLong(is_x86_64_v3()); }

static PyMethodDef functions[] = {
    {"has_x86_64_v3", has_x86_64_v3, METH_NOARGS,
     "Whether the CPU has the instructions of x86-64-v3, and the operating system lets programs use them."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "cpu", "What the CPU can do.", 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_cpu(void) { return PyModuleDef_Init(&definition); }
