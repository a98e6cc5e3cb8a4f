// A reference to something callable, for arguments of functions that are compiled once. Like
// std::function_ref of C++26.
#pragma once

#include <ashlar/core/language.hpp>

#include <type_traits>
#include <utility>

namespace ashlar {

template <class Signature>
class function_ref;

// Refers to a function object or a function; what it refers to must outlive it. Copies refer to the
// same.
template <class Result, class... Args>
class function_ref<Result(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>,
                           function_ref> && std::is_invocable_r_v<Result, F&, Args...>)
      function_ref(F&& f) {  // NOLINT: converts, so that a lambda can be an argument
    using target = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<target>) {
      function_ = reinterpret_cast<void (*)()>(&f);
      call_ = [](function_ref const& self, Args... args) -> Result {
        return reinterpret_cast<target*>(self.function_)(std::forward<Args>(args)...);
      };
    } else {
      object_ = &f;
      call_ = [](function_ref const& self, Args... args) -> Result {
        return (*static_cast<target*>(const_cast<void*>(self.object_)))(std::forward<Args>(args)...);
      };
    }
  }

  Result operator()(Args... args) const { return call_(*this, std::forward<Args>(args)...); }

 private:
  union {
    void const* object_;
    void (*function_)();
  };
  Result (*call_)(function_ref const&, Args...);
};

}  // namespace ashlar
