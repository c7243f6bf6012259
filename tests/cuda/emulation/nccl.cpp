// The functions of NCCL that ranks call, for threads of one process whose "GPU memory" is host memory.
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

struct Id { char data[128]; };
struct Piece { bool send; char *address; size_t bytes; int peer; };
struct World {
    std::mutex lock;
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::deque<std::vector<char>>> boxes;  // by sender and receiver
};
struct Comm { World *world; int rank; };

static std::mutex all_lock;
static std::map<std::string, World *> worlds;
static int made = 0;
static thread_local std::vector<Piece> group;
static thread_local Comm *used = nullptr;

extern "C" {
int ncclGetUniqueId(Id *id) {
    std::lock_guard<std::mutex> hold(all_lock);
    memset(id->data, 0, sizeof id->data);
    snprintf(id->data, sizeof id->data, "world %d", made++);
    memset(id->data + 100, 7, 28);  // bytes behind the first zero count as well
    return 0;
}

int ncclCommInitRank(Comm **comm, int ranks, Id id, int rank) {
    std::lock_guard<std::mutex> hold(all_lock);
    if (rank < 0 || rank >= ranks || id.data[127] != 7) return 4;
    World *&world = worlds[std::string(id.data, sizeof id.data)];
    if (!world) world = new World;
    *comm = new Comm{world, rank};
    return 0;
}

int ncclGroupStart() { group.clear(); return 0; }

int ncclSend(char *address, size_t bytes, int type, int peer, Comm *comm, void *) {
    used = comm, group.push_back({true, address, bytes, peer});
    return type == 1 ? 0 : 4;
}

int ncclRecv(char *address, size_t bytes, int type, int peer, Comm *comm, void *) {
    used = comm, group.push_back({false, address, bytes, peer});
    return type == 1 ? 0 : 4;
}

int ncclGroupEnd() {
    if (group.empty()) return 0;
    World &world = *used->world;
    std::unique_lock<std::mutex> hold(world.lock);
    for (auto &piece : group)
        if (piece.send) world.boxes[{used->rank, piece.peer}].emplace_back(piece.address, piece.address + piece.bytes);
    world.changed.notify_all();
    for (auto &piece : group) {
        if (piece.send) continue;
        auto &box = world.boxes[{piece.peer, used->rank}];
        world.changed.wait(hold, [&] { return !box.empty(); });
        if (box.front().size() != piece.bytes) return 5;
        memcpy(piece.address, box.front().data(), piece.bytes);
        box.pop_front();
    }
    return 0;
}

const char *ncclGetErrorString(int status) { return status == 5 ? "lengths differ" : "invalid argument"; }
}
