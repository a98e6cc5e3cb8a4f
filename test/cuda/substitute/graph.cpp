// Graphs: instantiated, launched, destroyed. At a launch only the graph's dependencies order its nodes:
// each captured stream has a queue, and a node waits for what it comes after in the others.
#include "graph.hpp"

using namespace cuda_substitute;

struct CUgraphExec_st {
  std::shared_ptr<std::vector<node> const> nodes;
  std::vector<work_queue> lanes;
  ticket_ptr last;  // the end of the last launch
};

namespace {

std::vector<ticket_ptr> push_nodes(machine const& m, CUgraphExec_st& executable,
                                   ticket_ptr const& start) {
  std::vector<ticket_ptr> done;
  for (node const& n : *executable.nodes) {
    operation o = n.what;
    o.done = std::make_shared<ticket>();
    o.after = {start};
    for (std::size_t earlier : n.after) o.after.push_back(done[earlier]);
    if (n.records != nullptr && m.events.contains(n.records)) n.records->last = o.done;
    done.push_back(o.done);
    executable.lanes[n.lane].push(std::move(o));
  }
  return done;
}

}  // namespace

void cuda_substitute::forget_graphs(machine& m) {
  for (cudaGraph_t g : m.graphs) delete g;
  for (cudaGraphExec_t e : m.executables) delete e;
  m.graphs.clear();
  m.executables.clear();
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return call("cudaGraphGetNodes", [&](machine& m, auto&) {
    if (!m.graphs.contains(graph) || count == nullptr) return cudaErrorInvalidValue;
    if (nodes != nullptr)
      for (std::size_t i = 0; i < *count; ++i)
        nodes[i] = i < graph->handles.size() ? &graph->handles[i] : nullptr;
    if (nodes == nullptr || *count > graph->handles.size()) *count = graph->handles.size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return call("cudaGraphInstantiate", [&](machine& m, auto&) {
    static_cast<void>(m.current());
    if (executable == nullptr || flags != 0 || !m.graphs.contains(graph)) return cudaErrorInvalidValue;
    *executable = new CUgraphExec_st{graph->nodes, std::vector<work_queue>(graph->lanes), nullptr};
    m.executables.insert(*executable);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return call("cudaGraphUpload", [&](machine& m, auto&) {
    static_cast<void>(m.at(stream));
    return m.executables.contains(executable) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

// It comes after what the stream was given before, and after the last launch of the same graph.
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return call("cudaGraphLaunch", [&](machine& m, auto&) {
    CUstream_st& s = m.at(stream);
    if (!m.executables.contains(executable)) return cudaErrorInvalidValue;
    if (s.capturing) invalidate(*s.capturing, cudaErrorStreamCaptureUnsupported);
    operation start{.name = "the start of a graph", .device = s.device};
    if (executable->last) start.after.push_back(executable->last);
    ticket_ptr const started = start.done;
    submit(m, s, std::move(start));
    operation end{.name = "the end of a graph", .device = s.device};
    end.after = push_nodes(m, *executable, started);
    executable->last = end.done;
    submit(m, s, std::move(end));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  auto const destroy = [&](machine& m, auto&) {
    if (m.graphs.erase(graph) == 0) return cudaErrorInvalidValue;
    delete graph;
    return cudaSuccess;
  };
  return call("cudaGraphDestroy", destroy, on_error::give_back_still);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  auto const destroy = [&](machine& m, auto&) {
    if (m.executables.erase(executable) == 0) return cudaErrorInvalidValue;
    delete executable;
    return cudaSuccess;
  };
  return call("cudaGraphExecDestroy", destroy, on_error::give_back_still);
}
