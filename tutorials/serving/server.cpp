// server FOLDER PORT: answers lookups from FOLDER/table.bin, which is mapped, with the function of lookup.so.
//
// POST /lookup with int64 indices, little-endian, is answered by their rows, float32, or by 400 and why there are none.
// A few threads wait for connections that have something to say; each request is one call of the library on the thread that read it.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lookup.h"

namespace {

constexpr size_t WIDTH = 64, MOST_HEAD = 8192, MOST_BODY = 8 << 16;
constexpr char HELP[] = "GET /health or POST /lookup\n";

struct Table {
    const float *rows;
    int64_t count;
};

struct Connection {
    int socket;
    std::string in; // what has come and is not answered
};

// What a thread keeps from one request to the next.
struct Worker {
    std::vector<int64_t> indices;
    std::vector<float> rows;
    std::string head;
};

[[noreturn]] void fail(const char *what) {
    perror(what);
    exit(1);
}

Table map_table(const std::string &path) {
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat is;
    if (file < 0 || fstat(file, &is) != 0)
        fail(path.c_str());
    void *at = mmap(nullptr, static_cast<size_t>(is.st_size), PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        fail(path.c_str());
    madvise(at, static_cast<size_t>(is.st_size), MADV_RANDOM); // a row's page is read, and not its neighbours
    close(file);
    return {static_cast<const float *>(at), static_cast<int64_t>(static_cast<size_t>(is.st_size) / sizeof(float) / WIDTH)};
}

bool send_all(int socket, const char *data, size_t size, int flags) {
    while (size > 0) {
        ssize_t sent = send(socket, data, size, flags | MSG_NOSIGNAL);
        if (sent <= 0)
            return false; // gone, or too slow: see SO_SNDTIMEO
        data += sent;
        size -= static_cast<size_t>(sent);
    }
    return true;
}

bool answer(int socket, Worker &w, const char *status, const char *kind, const void *body, size_t size) {
    w.head = std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + kind + "\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
    return send_all(socket, w.head.data(), w.head.size(), MSG_MORE) && send_all(socket, static_cast<const char *>(body), size, 0);
}

bool answer_text(int socket, Worker &w, const char *status, const std::string &text) {
    return answer(socket, w, status, "text/plain; charset=utf-8", text.data(), text.size());
}

bool look_up(int socket, const Table &table, Worker &w, const char *body, size_t size) {
    if (size % sizeof(int64_t) != 0)
        return answer_text(socket, w, "400 Bad Request", "the body must be int64 indices: a multiple of 8 bytes\n");
    size_t count = size / sizeof(int64_t);
    w.indices.resize(count + 1); // never empty, so that there is an address
    w.rows.resize(count * WIDTH + 1);
    memcpy(w.indices.data(), body, size); // to where an int64 may stand
    gs_options options = {};
    options.threads = 1; // other requests use the other cores
    gs_error error;
    // sizes stand in the order of their names: k, the indices, then n, the rows of the table
    if (lookup(table.rows, w.indices.data(), w.rows.data(), static_cast<int64_t>(count), table.count, &options, &error) != GS_OK)
        return answer_text(socket, w, "400 Bad Request", std::string(error.text) + "\n");
    return answer(socket, w, "200 OK", "application/octet-stream", w.rows.data(), count * WIDTH * sizeof(float));
}

// The value of a header field, empty where there is none.
std::string field(const std::string &head, const char *name) {
    size_t length = strlen(name);
    for (size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
        const char *line = head.c_str() + at + 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            size_t begin = head.find_first_not_of(" \t", at + 2 + length + 1), end = head.find("\r\n", at + 2);
            return begin < end ? head.substr(begin, end - begin) : "";
        }
    }
    return "";
}

// Answers the requests that have come whole; false where the connection is to be closed.
bool serve(Connection &c, const Table &table, Worker &w) {
    for (;;) {
        size_t end = c.in.find("\r\n\r\n");
        if (end == std::string::npos) {
            if (c.in.size() <= MOST_HEAD)
                return true;
            answer_text(c.socket, w, "431 Request Header Fields Too Large", "the head is too long\n");
            return false;
        }
        std::string head = c.in.substr(0, end + 2), length = field(head, "Content-Length");
        bool post = head.compare(0, 5, "POST ") == 0;
        if (length.size() > 9 || length.find_first_not_of("0123456789") != std::string::npos || (post && length.empty()) ||
            (!length.empty() && std::stoul(length) > MOST_BODY)) {
            answer_text(c.socket, w, "413 Content Too Large", "a body of at most " + std::to_string(MOST_BODY) + " bytes is needed\n");
            return false; // the body is not read
        }
        size_t size = length.empty() ? 0 : std::stoul(length);
        if (c.in.size() < end + 4 + size)
            return true;
        bool fine;
        if (head.compare(0, 13, "POST /lookup ") == 0)
            fine = look_up(c.socket, table, w, c.in.data() + end + 4, size);
        else if (head.compare(0, 12, "GET /health ") == 0)
            fine = answer_text(c.socket, w, "200 OK", "ok\n");
        else
            fine = answer_text(c.socket, w, "404 Not Found", HELP);
        c.in.erase(0, end + 4 + size);
        if (!fine || strcasecmp(field(head, "Connection").c_str(), "close") == 0)
            return false;
    }
}

// Reads what has come; false where the connection has ended.
bool receive(Connection &c) {
    char buffer[1 << 16];
    while (c.in.size() <= MOST_HEAD + MOST_BODY) {
        ssize_t got = recv(c.socket, buffer, sizeof buffer, MSG_DONTWAIT);
        if (got < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        if (got == 0)
            return false;
        c.in.append(buffer, static_cast<size_t>(got));
        if (static_cast<size_t>(got) < sizeof buffer)
            return true;
    }
    return true;
}

void watch(int epoll, int how, int socket, void *what) {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLONESHOT; // one thread at a time has a connection
    event.data.ptr = what;
    epoll_ctl(epoll, how, socket, &event);
}

void take_connections(int epoll, int listener) {
    for (;;) {
        int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) {
            usleep(10000); // too many are open
            continue;
        }
        int yes = 1;
        timeval patience = {5, 0};
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        watch(epoll, EPOLL_CTL_ADD, socket, new Connection{socket, {}});
    }
}

void work(int epoll, Table table) {
    Worker w;
    for (;;) {
        epoll_event event;
        if (epoll_wait(epoll, &event, 1, -1) != 1)
            continue;
        std::unique_ptr<Connection> c(static_cast<Connection *>(event.data.ptr));
        if (receive(*c) && serve(*c, table, w)) {
            watch(epoll, EPOLL_CTL_MOD, c->socket, c.get());
            c.release(); // another thread may have it by now
        } else
            close(c->socket);
    }
}

} // namespace

int main(int count, char **args) {
    if (count != 3) {
        fprintf(stderr, "usage: server FOLDER PORT\n");
        return 2;
    }
    Table table = map_table(std::string(args[1]) + "/table.bin");
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in here = {};
    here.sin_family = AF_INET;
    here.sin_port = htons(static_cast<uint16_t>(atoi(args[2])));
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, reinterpret_cast<sockaddr *>(&here), sizeof here) != 0 || listen(listener, 128) != 0)
        fail("bind");
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    unsigned threads = std::max(2u, std::thread::hardware_concurrency());
    for (unsigned k = 0; k < threads; ++k)
        std::thread(work, epoll, table).detach();
    take_connections(epoll, listener);
}
