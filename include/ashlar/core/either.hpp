// A value that is of one of several kinds: std::variant, whose assignment clang 14 cannot evaluate while
// compiling, and without which every header would be a tenth larger. Kinds are small: they are copied as
// bytes.
#pragma once

#include <ashlar/core/language.hpp>

#include <initializer_list>
#include <type_traits>

namespace ashlar {

namespace either_detail {

template <class... Kinds>
union content;

template <class Kind>
union content<Kind> {
  Kind kind;

  constexpr explicit content(Kind k) : kind(k) {}
};

template <class Kind, class Next, class... Rest>
union content<Kind, Next, Rest...> {
  Kind kind;
  content<Next, Rest...> rest;

  constexpr explicit content(Kind k) : kind(k) {}
  template <class Other>
  constexpr explicit content(Other k) : rest(k) {}
};

// The place of a kind on a list that has it once; -1 if it has it never or several times.
template <class Wanted, class... Kinds>
constexpr int index_of() {
  int index = -1, at = 0, found = 0;
  for (bool const is_it : {std::is_same_v<Wanted, Kinds>...}) {
    if (is_it) index = at;
    found += is_it;
    ++at;
  }
  return found == 1 ? index : -1;
}

template <class Kind, class Visit>
constexpr auto visit_at(content<Kind> const& c, int, Visit const& visit) {
  return visit(c.kind);
}
template <class Kind, class Next, class... Rest, class Visit>
constexpr auto visit_at(content<Kind, Next, Rest...> const& c, int index, Visit const& visit) {
  if (index == 0) return visit(c.kind);
  return visit_at(c.rest, index - 1, visit);
}

template <class Wanted, class Kind, class... Rest>
constexpr Wanted const* address(content<Kind, Rest...> const& c) {
  if constexpr (std::is_same_v<Wanted, Kind>)
    return &c.kind;
  else
    return address<Wanted>(c.rest);
}

// The function that takes the kind at hand.
template <class... Cases>
struct cases : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
cases(Cases...) -> cases<Cases...>;

}  // namespace either_detail

// One of several kinds; by default the first.
template <class First, class... Rest>
class either {
  static_assert((std::is_trivially_copyable_v<First> && ... && std::is_trivially_copyable_v<Rest>));

 public:
  constexpr either() : content_(First{}) {}
  // The value is then of that kind.
  template <class Kind>
  requires(either_detail::index_of<Kind, First, Rest...>() >= 0) constexpr either(Kind kind)
      : content_(kind), index_(either_detail::index_of<Kind, First, Rest...>()) {}

  // The place of its kind on the list.
  constexpr int index() const { return index_; }

  // Whether it is of that kind.
  template <class Kind>
  constexpr bool is() const {
    constexpr int wanted = either_detail::index_of<Kind, First, Rest...>();
    static_assert(wanted >= 0, "no such kind");
    return index_ == wanted;
  }

  // The value if it is of that kind, otherwise a null pointer. Valid until it is assigned to.
  template <class Kind>
  constexpr Kind const* get_if() const {
    return is<Kind>() ? either_detail::address<Kind>(content_) : nullptr;
  }

  // Calls the case for its kind, of the functions given, and returns its result. A kind without a case
  // does not compile, and all cases return one type.
  template <class... Cases>
  constexpr auto visit(Cases... each) const {
    return either_detail::visit_at(content_, index_, either_detail::cases{each...});
  }

  friend constexpr bool operator==(either const& a, either const& b) {
    return a.index_ == b.index_ && a.visit([&](auto const& kind) {
      return kind == *b.template get_if<std::remove_cvref_t<decltype(kind)>>();
    });
  }

 private:
  either_detail::content<First, Rest...> content_;
  int index_ = 0;
};

}  // namespace ashlar
