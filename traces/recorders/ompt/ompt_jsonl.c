/* Writes what an OpenMP program's tasks do as JSON lines, one an event: a tool on the OMPT interface (OpenMP 5.0).
 *
 * The environment variable SIMSCHED_OMPT names the file; %p in it stands for the process id. Without it the tool stays
 * away. Each thread fills a buffer of its own, which goes to the file under a lock when it is full, when the thread ends
 * and when the runtime shuts down: lines of different threads are not in order of time, but carry it. What is written
 * is described in docs/formats/ompt.md.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <omp-tools.h>

enum { VERSION = 1, BUFFER_B = 1 << 16, LINE_B = 4096, DEPENDENCES_A_LINE = 64, KNOWN_CODE = 64 };

typedef struct buffer {
    struct buffer *next;
    pthread_mutex_t lock; /* taken before the file's */
    size_t used;
    int tid;
    const void *code[KNOWN_CODE];
    char text[BUFFER_B];
} buffer;

static int file = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the file */
static _Atomic(buffer *) buffers;
static atomic_uint_fast64_t tasks, regions, lost;
static atomic_int threads;
static _Thread_local buffer *mine;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* With the buffer's lock held. What the file cannot take is lost; how many bytes that were is told at the end. */
static void flush(buffer *b)
{
    size_t done = 0;
    pthread_mutex_lock(&lock);
    while (done < b->used) {
        ssize_t n = file < 0 ? -1 : write(file, b->text + done, b->used - done);
        if (n < 0 && file >= 0 && errno == EINTR)
            continue;
        if (n < 0) {
            atomic_fetch_add(&lost, b->used - done);
            break;
        }
        done += (size_t)n;
    }
    pthread_mutex_unlock(&lock);
    b->used = 0;
}

static void flush_locked(buffer *b)
{
    pthread_mutex_lock(&b->lock);
    flush(b);
    pthread_mutex_unlock(&b->lock);
}

static buffer *own(void)
{
    if (mine == NULL) {
        mine = calloc(1, sizeof *mine);
        if (mine == NULL)
            abort();
        pthread_mutex_init(&mine->lock, NULL);
        mine->tid = atomic_fetch_add(&threads, 1);
        mine->next = atomic_load(&buffers);
        while (!atomic_compare_exchange_weak(&buffers, &mine->next, mine))
            ;
    }
    return mine;
}

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
    buffer *b = own();
    va_list arguments;
    /* Nobody else wants this lock before the runtime shuts down. */
    pthread_mutex_lock(&b->lock);
    if (BUFFER_B - b->used < LINE_B)
        flush(b);
    va_start(arguments, format);
    b->used += (size_t)vsnprintf(b->text + b->used, LINE_B, format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&b->lock);
}

static uint64_t id(const ompt_data_t *data)
{
    return data == NULL ? 0 : data->value;
}

/* Tells once a thread in which object file a task's code lies, and where in it: that stays the same from run to run. */
static void place(const void *code)
{
    buffer *b = own();
    const void **slot = &b->code[((uintptr_t)code >> 2) % KNOWN_CODE];
    Dl_info found;
    if (*slot == code || code == NULL)
        return;
    *slot = code;
    if (!dladdr(code, &found) || found.dli_fname == NULL)
        return;
    const char *slash = strrchr(found.dli_fname, '/');
    char name[80];
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : found.dli_fname);
    for (char *c = name; *c; c++)
        if (*c < '!' || *c > '~' || *c == '"' || *c == '\\')
            *c = '_';
    line("{\"ev\":\"code\",\"codeptr\":\"%p\",\"at\":\"%s+0x%" PRIxPTR "\"}\n", code, name,
         (uintptr_t)code - (uintptr_t)found.dli_fbase);
}

static void on_thread_begin(ompt_thread_t type, ompt_data_t *data)
{
    (void)data;
    line("{\"ev\":\"thread\",\"tid\":%d,\"type\":%d,\"ns\":%" PRIu64 "}\n", own()->tid, (int)type, now_ns());
}

static void on_thread_end(ompt_data_t *data)
{
    (void)data;
    flush_locked(own());
}

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *region, unsigned requested,
                              int flags, const void *code)
{
    (void)frame, (void)flags, (void)code;
    region->value = atomic_fetch_add(&regions, 1) + 1;
    line("{\"ev\":\"parallel\",\"scope\":\"begin\",\"parallel\":%" PRIu64 ",\"task\":%" PRIu64
         ",\"threads\":%u,\"tid\":%d,\"ns\":%" PRIu64 "}\n",
         region->value, id(task), requested, own()->tid, now_ns());
}

static void on_parallel_end(ompt_data_t *region, ompt_data_t *task, int flags, const void *code)
{
    (void)flags, (void)code;
    line("{\"ev\":\"parallel\",\"scope\":\"end\",\"parallel\":%" PRIu64 ",\"task\":%" PRIu64 ",\"tid\":%d,\"ns\":%" PRIu64
         "}\n",
         id(region), id(task), own()->tid, now_ns());
}

static void on_implicit_task(ompt_scope_endpoint_t scope, ompt_data_t *region, ompt_data_t *task, unsigned team,
                             unsigned index, int flags)
{
    if (scope == ompt_scope_begin)
        task->value = atomic_fetch_add(&tasks, 1) + 1;
    line("{\"ev\":\"implicit\",\"scope\":\"%s\",\"parallel\":%" PRIu64 ",\"task\":%" PRIu64
         ",\"threads\":%u,\"index\":%u,\"flags\":%u,\"tid\":%d,\"ns\":%" PRIu64 "}\n",
         scope == ompt_scope_begin ? "begin" : "end", id(region), id(task), team, index, (unsigned)flags, own()->tid,
         now_ns());
}

static void on_task_create(ompt_data_t *parent, const ompt_frame_t *frame, ompt_data_t *task, int flags, int has_dep,
                           const void *code)
{
    (void)frame;
    task->value = atomic_fetch_add(&tasks, 1) + 1;
    place(code);
    line("{\"ev\":\"create\",\"task\":%" PRIu64 ",\"parent\":%" PRIu64
         ",\"flags\":%u,\"has_dep\":%d,\"codeptr\":\"%p\",\"tid\":%d,\"ns\":%" PRIu64 "}\n",
         task->value, id(parent), (unsigned)flags, has_dep, code, own()->tid, now_ns());
}

static void on_dependences(ompt_data_t *task, const ompt_dependence_t *deps, int n)
{
    for (int first = 0; first < n; first += DEPENDENCES_A_LINE) {
        char list[LINE_B - 100];
        size_t used = 0;
        for (int i = first; i < n && i < first + DEPENDENCES_A_LINE; i++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s[\"0x%" PRIxPTR "\",%d]", i > first ? "," : "",
                                     (uintptr_t)deps[i].variable.ptr, (int)deps[i].dependence_type);
        line("{\"ev\":\"depend\",\"task\":%" PRIu64 ",\"deps\":[%s]}\n", id(task), list);
    }
}

static void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)
{
    line("{\"ev\":\"sched\",\"prior\":%" PRIu64 ",\"status\":%d,\"next\":%" PRIu64 ",\"tid\":%d,\"ns\":%" PRIu64 "}\n",
         id(prior), (int)status, id(next), own()->tid, now_ns());
}

static void write_sync(const char *event, ompt_sync_region_t kind, ompt_scope_endpoint_t scope,
                       const ompt_data_t *region, const ompt_data_t *task)
{
    line("{\"ev\":\"%s\",\"kind\":%d,\"scope\":\"%s\",\"parallel\":%" PRIu64 ",\"task\":%" PRIu64
         ",\"tid\":%d,\"ns\":%" PRIu64 "}\n",
         event, (int)kind, scope == ompt_scope_begin ? "begin" : "end", id(region), id(task), own()->tid, now_ns());
}

static void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t scope, ompt_data_t *region, ompt_data_t *task,
                           const void *code)
{
    (void)code;
    write_sync("sync", kind, scope, region, task);
}

static void on_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t scope, ompt_data_t *region,
                                ompt_data_t *task, const void *code)
{
    (void)code;
    if (kind == ompt_sync_region_taskgroup)
        write_sync("wait", kind, scope, region, task);
}

static int open_file(const char *pattern)
{
    char path[4096];
    const char *mark = strstr(pattern, "%p");
    if (mark != NULL)
        snprintf(path, sizeof path, "%.*s%ld%s", (int)(mark - pattern), pattern, (long)getpid(), mark + 2);
    else
        snprintf(path, sizeof path, "%s", pattern);
    int opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (opened < 0)
        perror(path);
    return opened;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    (void)device, (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    file = open_file(getenv("SIMSCHED_OMPT"));
    if (set == NULL || file < 0)
        return 0;
    set(ompt_callback_thread_begin, (ompt_callback_t)on_thread_begin);
    set(ompt_callback_thread_end, (ompt_callback_t)on_thread_end);
    set(ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin);
    set(ompt_callback_parallel_end, (ompt_callback_t)on_parallel_end);
    set(ompt_callback_implicit_task, (ompt_callback_t)on_implicit_task);
    int create = set(ompt_callback_task_create, (ompt_callback_t)on_task_create);
    int schedule = set(ompt_callback_task_schedule, (ompt_callback_t)on_task_schedule);
    int dependences = set(ompt_callback_dependences, (ompt_callback_t)on_dependences);
    int regions_told = set(ompt_callback_sync_region, (ompt_callback_t)on_sync_region);
    set(ompt_callback_sync_region_wait, (ompt_callback_t)on_sync_region_wait);
    line("{\"ev\":\"tool\",\"version\":%d,\"clock\":\"CLOCK_MONOTONIC ns\",\"task_create\":%d,\"task_schedule\":%d,"
         "\"dependences\":%d,\"sync_region\":%d}\n",
         VERSION, create, schedule, dependences, regions_told);
    /* The head of the file tells what it is. */
    flush_locked(own());
    return 1;
}

static void finalize(ompt_data_t *data)
{
    (void)data;
    for (buffer *b = atomic_load(&buffers); b != NULL; b = b->next)
        flush_locked(b);
    line("{\"ev\":\"end\",\"lost_B\":%" PRIuFAST64 ",\"ns\":%" PRIu64 "}\n", atomic_load(&lost), now_ns());
    flush_locked(mine);
    if (atomic_load(&lost) > 0)
        fprintf(stderr, "SIMSCHED_OMPT: %" PRIuFAST64 " bytes could not be written\n", atomic_load(&lost));
    pthread_mutex_lock(&lock);
    close(file);
    file = -1;
    pthread_mutex_unlock(&lock);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t tool = {&initialize, &finalize, {0}};
    (void)version, (void)runtime;
    return getenv("SIMSCHED_OMPT") != NULL ? &tool : NULL;
}
