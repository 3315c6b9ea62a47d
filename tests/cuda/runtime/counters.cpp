// What a launch asks of the memory, counted as the hardware would: by warps.
//
// A request is one execution of an instruction by the lanes of a warp.  Lanes run one after the other here, so an execution is
// found again by its number: the k-th of one lane goes with the k-th of the others.  A request is of sectors of 32 bytes; those
// that a model of the caches does not hold go on, from L1 to L2 and from there to DRAM.
//
// A warp waits for what it reads.  Reads of one buffer that follow each other wait at once, up to some number of them; those of
// another buffer may be at a place that the former have found, and one that is atomic decides what comes next.  What a warp has read before is in L1, and nobody waits for it; what
// another warp of the block has read may still be on its way.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <unordered_map>

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
static int in_flight = 4;

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
  uint64_t requests, lanes, sectors, l2_sectors, dram_sectors, wavefronts;
};
struct Launch {
  std::string kernel;
  uint64_t blocks, threads, longest, atomics_of_one, written_back;
  uint64_t waits[2], longest_waits[2];  // for L2 and for DRAM: of all warps, of the one that waits most
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

static std::vector<Launch> launches;
static std::unordered_map<uintptr_t, uint64_t> atomics;  // at each address, in this launch

void count(uintptr_t code, uintptr_t a, int size, int access, bool in_shared) {
  records[state.current->number].push_back({code, a, (int16_t)size, (int8_t)access, in_shared});
}

void count_launch_begins() {
  if (!l2.sets) l2.resize(l2_bytes);
  launches.push_back({state.kernel, (uint64_t)state.grid.x * state.grid.y * state.grid.z, (uint64_t)state.threads, 0, 0, 0, {0, 0}, {0, 0}, {}});
  atomics.clear();
  numbers = {};
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
  for (int k = 0; k < n; ++k) {
    if (cached && l1.access(sectors[k], false)) {
      Cache::Line& l = *l1.touched;
      if (l.warp != warp) level = std::max(level, l.level), l.warp = warp;
      continue;
    }
    ++site.l2_sectors;
    bool hit = l2.access(sectors[k], site.access & WRITE, site.hints & STREAMED);
    level = std::max(level, hit ? 1 : 2);
    if (cached) l1.touched->warp = warp, l1.touched->level = hit ? 1 : 2;
    // a sector that is only written is not fetched
    if (!hit && site.access != WRITE) ++site.dram_sectors;
  }
  if (site.access == (WRITE | ATOMIC))
    for (int l = 0; l < r.lanes; ++l) {
      uint64_t& here = atomics[r.address[l]];
      Launch& launch = launches.back();
      launch.atomics_of_one = std::max(launch.atomics_of_one, ++here);
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

static void count_warp(int first, int last) {
  Launch& launch = launches.back();
  static std::vector<std::vector<Request>> requests;      // of each instruction
  static std::vector<std::pair<unsigned, size_t>> order;  // of first execution
  static std::vector<size_t> executed, used;
  order.clear();
  used.assign(numbers.count, 0);
  size_t longest = 0;
  for (int t = first; t < last; ++t) {
    executed.assign(numbers.count, 0);
    for (const Record& r : records[t]) {
      unsigned n = numbers(r.code);
      if (n >= executed.size()) executed.resize(n + 1), used.resize(n + 1);
      if (n >= requests.size()) requests.resize(n + 1);
      if (n >= launch.sites.size()) {
        const Buffer* b = buffer_at(r.address);
        int access = r.access & (WRITE | ATOMIC);
        launch.sites.push_back({b ? b->name : "?", access, r.access & ~access, r.size, r.shared, 0, 0, 0, 0, 0, 0});
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
    longest = std::max(longest, records[t].size());
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
  launch.longest = std::max<uint64_t>(launch.longest, longest);
  for (int k = 0; k < 2; ++k) launch.waits[k] += waits.count[k];
  uint64_t* most = launch.longest_waits;
  if (std::tie(waits.count[1], waits.count[0]) > std::tie(most[1], most[0])) std::copy_n(waits.count, 2, most);
}

void count_block_ends() {
  int resident = std::clamp(2048 / state.threads, 1, 32);
  if (!l1.sets || l1.sets != std::max<size_t>(1, l1_bytes / resident / SECTOR / Cache::WAYS)) l1.resize(l1_bytes / resident);
  std::fill(l1.lines.begin(), l1.lines.end(), Cache::Line{~0ull, 0, false, 0, 0});
  for (int w = 0; w * WARP < state.threads; ++w) count_warp(w * WARP, std::min(w * WARP + WARP, state.threads));
}

void count_launch_ends() {
  for (auto& r : records) r.clear();
  launches.back().written_back = l2.written_back;
}

extern "C" {

// Forget what was counted, and what the caches hold.
void gs_count_from_here(size_t l1_size, size_t l2_size, int reads_in_flight) {
  l1_bytes = l1_size, l2_bytes = l2_size, in_flight = reads_in_flight;
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
    snprintf(line, sizeof line, "launch\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n", l.kernel.c_str(),
             (unsigned long long)l.blocks, (unsigned long long)l.threads, (unsigned long long)l.longest,
             (unsigned long long)l.atomics_of_one, (unsigned long long)l.written_back, (unsigned long long)l.waits[0],
             (unsigned long long)l.waits[1], (unsigned long long)l.longest_waits[0], (unsigned long long)l.longest_waits[1]);
    text += line;
    for (const Site& s : l.sites) {
      snprintf(line, sizeof line, "site\t%s\t%d\t%d\t%d\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n", s.buffer.c_str(), s.access, s.size,
               s.shared, (unsigned long long)s.requests, (unsigned long long)s.lanes, (unsigned long long)s.sectors,
               (unsigned long long)s.l2_sectors, (unsigned long long)s.dram_sectors, (unsigned long long)s.wavefronts);
      text += line;
    }
  }
  return text.c_str();
}
}

}  // namespace gs
