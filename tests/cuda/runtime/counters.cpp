// What a launch asks of the memory, counted as the hardware would: by warps.
//
// A request is one execution of an instruction by the lanes of a warp.  Lanes run one after the other here, so an execution is
// found again by its number: the k-th of one lane goes with the k-th of the others.  A request is of sectors of 32 bytes; those
// that a model of the caches does not hold go on, from L1 to L2 and from there to DRAM.
//
// A warp waits for what it reads.  Reads of one buffer that follow each other wait at once, up to some number of them; those of
// another buffer may be at a place that the former have found, and one that is atomic decides what comes next.  What a warp has
// read before is in L1, and nobody waits for it; what another warp of the block has read may still be on its way.
//
// An operation is a request, a barrier, or a shuffle, vote or match of a warp.  A block's chain is what its warps do one after the
// other: from each barrier to the next, what the warp does that does most.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "memory.h"

namespace gs {

bool counting;

constexpr int SECTOR = 32, BANKS = 32;

// Sectors that were used last, in sets of 16; those that are written go to memory when they leave, those that are streamed first.
struct Cache {
  static constexpr int WAYS = 16;
  struct Line {
    uint64_t sector, used;
    bool dirty;
    int warp, level;  // in L1: which has read it last, and where it came from
  };
  std::vector<Line> lines;
  uint64_t sets = 0, clock = 0, written_back = 0;
  Line* touched;

  void resize(size_t bytes) {
    sets = std::max<size_t>(1, bytes / SECTOR / WAYS);
    lines.assign(sets * WAYS, Line{~0ull, 0, false, 0, 0});
  }
  bool holds(uint64_t sector) const {
    const Line* set = &lines[sector * 0x9e3779b97f4a7c15ull % (sets * 64) / 64 * WAYS];
    return std::any_of(set, set + WAYS, [sector](const Line& l) { return l.sector == sector; });
  }
  // Whether the sector was there; it is now, in `touched`.
  bool access(uint64_t sector, bool write, bool streamed = false) {
    Line *set = &lines[sector * 0x9e3779b97f4a7c15ull % (sets * 64) / 64 * WAYS], *oldest = set;
    for (Line* l = set; l < set + WAYS; ++l) {
      if (l->sector == sector) return touched = l, l->used = streamed ? 0 : ++clock, l->dirty |= write, true;
      if (l->used < oldest->used) oldest = l;
    }
    written_back += oldest->dirty;
    *oldest = {sector, streamed ? 0 : ++clock, write, 0, 0};
    touched = oldest;
    return false;
  }
  uint64_t flush() {
    uint64_t n = 0;
    for (Line& l : lines) n += l.dirty, l.dirty = false;
    return n;
  }
};
static Cache l1, l2;
static size_t l1_bytes = 128 << 10, l2_bytes = 50 << 20;
static int in_flight = 4, fetched = 1;  // reads at once; sectors of a fetch from DRAM

struct Record {
  uintptr_t code, address;
  int16_t size;
  int8_t access;
  bool shared;
};
static std::vector<Record> records[MAX_THREADS];

struct Site {
  std::string buffer;
  int access, hints, size;
  bool shared;
  uint64_t requests, lanes, sectors, l2_sectors, l2_accesses, dram_sectors, wavefronts;
};
struct Chain {
  uint64_t operations, instructions, waits[2];

  template <class F>
  void update(const Chain& other, F f) {
    operations = f(operations, other.operations);
    instructions = f(instructions, other.instructions);
    for (int k = 0; k < 2; ++k) waits[k] = f(waits[k], other.waits[k]);
  }
  void add(const Chain& other) { update(other, [](uint64_t a, uint64_t b) { return a + b; }); }
  void reach(const Chain& other) { update(other, [](uint64_t a, uint64_t b) { return std::max(a, b); }); }
};
struct Launch {
  std::string kernel;
  uint64_t blocks, threads, longest, atomics_of_one, written_back;
  uint64_t waits[2], longest_waits[2];  // for L2 and for DRAM: of all warps, of the one that waits most
  uint64_t barriers, operations, instructions;  // of all blocks, of all warps; instructions are 0 unless traced
  Chain chain, longest_chain;                   // of all blocks; the most that a block has
  uint64_t shared_atomics_of_one;               // at the address of a block's shared memory that has most
  std::vector<Site> sites;
};
// A short number for each instruction, found fast.
struct Numbers {
  static constexpr unsigned SLOTS = 4096;
  uintptr_t keys[SLOTS];
  unsigned values[SLOTS], count;
  unsigned operator()(uintptr_t code) {
    unsigned k = (unsigned)(code * 0x9e3779b97f4a7c15ull >> 52);
    while (keys[k] && keys[k] != code) k = (k + 1) % SLOTS;
    if (!keys[k]) {
      if (count == SLOTS / 2) abort();  // more instructions than any kernel has
      keys[k] = code, values[k] = count++;
    }
    return values[k];
  }
};
static Numbers numbers;  // of this launch

// Basic blocks that threads have executed; a warp executes each as often as the lane that does so most.
struct Traces {
  static constexpr unsigned SLOTS = Numbers::SLOTS / 2;
  Numbers numbers;
  unsigned instructions[SLOTS], of_warp[SLOTS], of_thread[MAX_THREADS][SLOTS];
  std::vector<unsigned> seen[MAX_THREADS];

  void enter(uintptr_t code, unsigned count) {
    int thread = state.current->number;
    unsigned n = numbers(code);
    instructions[n] = count;
    if (!of_thread[thread][n]++) seen[thread].push_back(n);
  }
  // What a warp has executed since this was asked last.
  uint64_t take(int first, int last) {
    std::vector<unsigned> all;
    uint64_t total = 0;
    for (int t = first; t < last; ++t) {
      for (unsigned n : seen[t]) {
        if (!of_warp[n]) all.push_back(n);
        of_warp[n] = std::max(of_warp[n], std::exchange(of_thread[t][n], 0));
      }
      seen[t].clear();
    }
    for (unsigned n : all) total += (uint64_t)instructions[n] * std::exchange(of_warp[n], 0);
    return total;
  }
};
static Traces traces;

static std::vector<Launch> launches;
static std::unordered_map<uintptr_t, uint64_t> atomics;      // at each address, in this launch
static std::unordered_map<uintptr_t, uint64_t> own_atomics;  // at each address of shared memory, in this block

// Of the block that runs.
static struct {
  bool begun;
  Chain chain;
  uint64_t operations[MAX_THREADS / WARP];  // of warps, since the last barrier: those that are no requests
  uint64_t waits[MAX_THREADS / WARP][2], accesses[MAX_THREADS];
} block;

void count(uintptr_t code, uintptr_t a, int size, int access, bool in_shared) {
  records[state.current->number].push_back({code, a, (int16_t)size, (int8_t)access, in_shared});
}

void count_operation(int warp) { ++block.operations[warp]; }

void count_launch_begins() {
  if (!l2.sets) l2.resize(l2_bytes);
  launches.push_back({});
  launches.back().kernel = state.kernel;
  launches.back().blocks = (uint64_t)state.grid.x * state.grid.y * state.grid.z;
  launches.back().threads = state.threads;
  atomics.clear();
  numbers = {};
  traces.numbers = {};
  block = {};
  own_atomics.clear();
  l2.written_back = 0;
}

struct Request {
  int lanes;
  uintptr_t address[WARP];
};

// Distinct values of a short list.
static int distinct(uint64_t* v, int n) {
  std::sort(v, v + n);
  return (int)(std::unique(v, v + n) - v);
}

static void shared_request(Site& site, const Request& r) {
  // each bank gives one word at a time; lanes that want the same word share it; wide accesses go in parts of a warp
  int width = std::max(4, site.size), lanes_at_once = std::max(1, WARP * 4 / width);
  for (int first = 0; first < r.lanes; first += lanes_at_once) {
    uint64_t words[WARP * 4];
    int n = 0, in_bank[BANKS] = {}, worst = 0;
    for (int l = first; l < std::min(r.lanes, first + lanes_at_once); ++l)
      for (int k = 0; k < width / 4; ++k) words[n++] = r.address[l] / 4 + k;
    n = distinct(words, n);
    for (int k = 0; k < n; ++k) worst = std::max(worst, ++in_bank[words[k] % BANKS]);
    site.wavefronts += worst;
  }
  if (site.access & ATOMIC)
    for (int l = 0; l < r.lanes; ++l) ++own_atomics[r.address[l]];
}

// Where the last of what is read comes from: 0 for what the warp has read before, 1 for L2, 2 for DRAM.
static int global_request(Site& site, const Request& r, int warp) {
  uint64_t sectors[WARP * 2], lines[WARP * 2];
  int n = 0;
  for (int l = 0; l < r.lanes; ++l)
    for (uint64_t s = r.address[l] / SECTOR; s <= (r.address[l] + site.size - 1) / SECTOR && n < WARP * 2; ++s) sectors[n++] = s;
  n = distinct(sectors, n);
  site.sectors += n;
  for (int k = 0; k < n; ++k) lines[k] = sectors[k] / 4;
  site.wavefronts += distinct(lines, n);
  bool cached = site.access == READ;
  int level = 0;
  uint64_t accessed = ~0ull;  // of two sectors each
  for (int k = 0; k < n; ++k) {
    if (cached && l1.access(sectors[k], false)) {
      Cache::Line& l = *l1.touched;
      if (l.warp != warp) level = std::max(level, l.level), l.warp = warp;
      continue;
    }
    ++site.l2_sectors;
    if (sectors[k] / 2 != accessed) accessed = sectors[k] / 2, ++site.l2_accesses;
    bool hit = l2.access(sectors[k], site.access & WRITE, site.hints & STREAMED);
    level = std::max(level, hit ? 1 : 2);
    if (cached) l1.touched->warp = warp, l1.touched->level = hit ? 1 : 2;
    // a sector that is only written is not fetched
    if (!hit && site.access != WRITE) {
      ++site.dram_sectors;
      // the sectors beside it come with it
      for (uint64_t s = sectors[k] / fetched * fetched, end = s + fetched; s < end; ++s)
        if (s != sectors[k] && !l2.holds(s)) l2.access(s, false, site.hints & STREAMED), ++site.dram_sectors;
    }
  }
  if (site.access == (WRITE | ATOMIC)) {
    Launch& launch = launches.back();
    for (int l = 0; l < r.lanes; ++l) launch.atomics_of_one = std::max(launch.atomics_of_one, ++atomics[r.address[l]]);
  }
  return level;
}

// How often a warp waits for L2 and for DRAM, of its reads one after the other.
struct Waits {
  uint64_t count[2] = {0, 0};
  const Buffer* buffer = nullptr;
  int together = 0, level = 0;

  void end() {
    if (together) ++count[level - 1];
    together = level = 0;
  }
  void read(const Buffer* b, int from, bool alone) {
    if (alone || b != buffer || together == in_flight) end();
    buffer = b, level = std::max(level, from), ++together;
    if (alone) end();
  }
};

// What a warp has done since the last barrier.
static Chain count_warp(int first, int last) {
  Launch& launch = launches.back();
  static std::vector<std::vector<Request>> requests;      // of each instruction
  static std::vector<std::pair<unsigned, size_t>> order;  // of first execution
  static std::vector<size_t> executed, used;
  order.clear();
  used.assign(numbers.count, 0);
  for (int t = first; t < last; ++t) {
    executed.assign(numbers.count, 0);
    for (const Record& r : records[t]) {
      unsigned n = numbers(r.code);
      if (n >= executed.size()) executed.resize(n + 1), used.resize(n + 1);
      if (n >= requests.size()) requests.resize(n + 1);
      if (n >= launch.sites.size()) {
        const Buffer* b = buffer_at(r.address);
        int access = r.access & (WRITE | ATOMIC);
        launch.sites.push_back({b ? b->name : "?", access, r.access & ~access, r.size, r.shared, 0, 0, 0, 0, 0, 0, 0});
      }
      size_t k = executed[n]++;
      if (k == used[n]) {
        if (++used[n] > requests[n].size()) requests[n].resize(used[n]);
        requests[n][k].lanes = 0;
        order.push_back({n, k});
      }
      Request& request = requests[n][k];
      request.address[request.lanes++] = r.address;
    }
    block.accesses[t] += records[t].size();
    records[t].clear();
  }
  Waits waits;
  for (auto& [n, k] : order) {
    Site& site = launch.sites[n];
    const Request& r = requests[n][k];
    ++site.requests;
    site.lanes += r.lanes;
    if (site.shared) {
      shared_request(site, r);
      continue;
    }
    int level = global_request(site, r, first);
    bool awaited = site.hints & AWAITED || site.access == ATOMIC;
    if (level && (awaited || !(site.access & WRITE))) waits.read(buffer_at(r.address[0]), level, awaited);
  }
  waits.end();
  int warp = first / WARP;
  for (int k = 0; k < 2; ++k) block.waits[warp][k] += waits.count[k];
  return {order.size() + std::exchange(block.operations[warp], 0), traces.take(first, last), {waits.count[0], waits.count[1]}};
}

static void count_warps() {
  if (!block.begun) {
    int resident = std::clamp(2048 / state.threads, 1, 32);
    if (!l1.sets || l1.sets != std::max<size_t>(1, l1_bytes / resident / SECTOR / Cache::WAYS)) l1.resize(l1_bytes / resident);
    std::fill(l1.lines.begin(), l1.lines.end(), Cache::Line{~0ull, 0, false, 0, 0});
    block.begun = true;
  }
  Launch& launch = launches.back();
  Chain most{};
  for (int w = 0; w * WARP < state.threads; ++w) {
    Chain warp = count_warp(w * WARP, std::min(w * WARP + WARP, state.threads));
    launch.operations += warp.operations;
    launch.instructions += warp.instructions;
    most.reach(warp);
  }
  block.chain.add(most);
}

void count_barrier() {
  for (int w = 0; w * WARP < state.threads; ++w) ++block.operations[w];
  count_warps();
  ++launches.back().barriers;
}

void count_block_ends() {
  count_warps();
  Launch& launch = launches.back();
  launch.chain.add(block.chain);
  launch.longest_chain.reach(block.chain);
  for (int t = 0; t < state.threads; ++t) launch.longest = std::max(launch.longest, block.accesses[t]);
  for (auto& waits : block.waits) {
    uint64_t* most = launch.longest_waits;
    for (int k = 0; k < 2; ++k) launch.waits[k] += waits[k];
    if (std::tie(waits[1], waits[0]) > std::tie(most[1], most[0])) std::copy_n(waits, 2, most);
  }
  for (auto& [address, count] : own_atomics) launch.shared_atomics_of_one = std::max(launch.shared_atomics_of_one, count);
  own_atomics.clear();
  block = {};
}

void count_launch_ends() {
  for (auto& r : records) r.clear();
  traces.take(0, MAX_THREADS);
  launches.back().written_back = l2.written_back;
}

extern "C" {

// A basic block of so many instructions.
void __sanitizer_cov_trace_pc(int instructions) {
  if (counting && state.running) traces.enter((uintptr_t)__builtin_return_address(0), instructions);
}

// Forget what was counted, and what the caches hold.
void gs_count_from_here(size_t l1_size, size_t l2_size, int reads_in_flight, int fetched_sectors) {
  l1_bytes = l1_size, l2_bytes = l2_size, in_flight = reads_in_flight, fetched = fetched_sectors;
  launches.clear();
  l1.sets = 0;
  l2.resize(l2_bytes);
}

// What was counted, a line for each launch and each instruction; sectors that are still to be written are the last launch's.
const char* gs_counted() {
  static std::string text;
  text.clear();
  char line[400];
  if (!launches.empty()) launches.back().written_back += l2.flush();
  for (const Launch& l : launches) {
    snprintf(line, sizeof line, "launch\t%s", l.kernel.c_str());
    text += line;
    for (uint64_t n : {l.blocks, l.threads, l.longest, l.atomics_of_one, l.written_back, l.waits[0], l.waits[1], l.longest_waits[0],
                       l.longest_waits[1], l.barriers, l.operations, l.instructions, l.chain.operations, l.chain.instructions,
                       l.chain.waits[0], l.chain.waits[1], l.longest_chain.operations, l.longest_chain.instructions,
                       l.longest_chain.waits[0], l.longest_chain.waits[1], l.shared_atomics_of_one})
      text += "\t" + std::to_string(n);
    text += "\n";
    for (const Site& s : l.sites) {
      snprintf(line, sizeof line, "site\t%s\t%d\t%d\t%d", s.buffer.c_str(), s.access, s.size, s.shared);
      text += line;
      for (uint64_t n : {s.requests, s.lanes, s.sectors, s.l2_sectors, s.l2_accesses, s.dram_sectors, s.wavefronts})
        text += "\t" + std::to_string(n);
      text += "\n";
    }
  }
  return text.c_str();
}
}

}  // namespace gs
