#include "train/launcher_end.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace tool {

namespace {

// The parent of a process, or 0. Its name, in parentheses, may hold anything.
pid_t parent_of(std::filesystem::path const& process) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  std::size_t const name_end = line.rfind(") ");
  constexpr std::size_t to_parent = 4;  // behind the parenthesis and the state
  if (name_end == std::string::npos || line.size() < name_end + to_parent) return 0;
  return static_cast<pid_t>(std::atoi(line.c_str() + name_end + to_parent));
}

}  // namespace

bool runs_below(pid_t ancestor) {
  std::error_code failure;
  std::filesystem::path const self = std::filesystem::read_symlink("/proc/self/exe", failure);
  std::map<pid_t, pid_t> parent;
  std::vector<pid_t> alike;
  for (auto const& entry : std::filesystem::directory_iterator("/proc", failure)) {
    pid_t const id = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
    if (id <= 0) continue;
    parent[id] = parent_of(entry.path());
    std::error_code is_not_ours;
    if (std::filesystem::read_symlink(entry.path() / "exe", is_not_ours) == self) alike.push_back(id);
  }
  for (pid_t id : alike)
    while (id > 1 && id != ancestor)
      if (pid_t const above = parent[id]; above == ancestor)
        return true;
      else
        id = above;
  return false;
}

bool launcher_end::is_overdue() {
  constexpr auto between_looks = std::chrono::milliseconds(100);
  clock::time_point const now = clock::now();
  if (now < next_look_) return false;
  next_look_ = now + between_looks;
  if (runs_below(launcher_)) last_seen_ = now;
  return last_seen_ && now - *last_seen_ > deadline_;
}

}  // namespace tool
