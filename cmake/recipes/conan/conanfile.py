"""Ashlar as a Conan package, made of the checkout that this stands in: conan create CHECKOUT/cmake/recipes/conan

The package has headers alone. With the option compiled=True it has the libraries ashlar::compiled, ashlar::cost and ashlar::plan, too.
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

CHECKOUT = os.path.join("..", "..", "..")


class Ashlar(ConanFile):
    name = "ashlar"
    license = "Apache-2.0"
    description = "Pipeline schedules as values: an algebra, proofs, bounds, searches and predictions, in headers"
    settings = "os", "compiler", "build_type", "arch"
    options = {"json": [True, False], "views": [True, False], "compiled": [True, False]}
    default_options = {"json": False, "views": False, "compiled": False}

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, CHECKOUT, "include", "ashlar", "core", "version.hpp"))
        self.version = re.search(r'version\[\] = "([^"]+)"', text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "backends/CMakeLists.txt", "backends/host/*",
                        "tools/cost/*", "tools/plan/*"):
            copy(self, pattern, os.path.join(self.recipe_folder, CHECKOUT), self.export_sources_folder)

    def configure(self):
        self.package_type = "static-library" if self.options.compiled else "header-library"

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()  # headers are the same for all compilers

    def requirements(self):
        if self.options.json:
            self.requires("nlohmann_json/[>=3.11]", transitive_headers=True)
        if self.options.views:
            self.requires("range-v3/[>=0.12]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        tools = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "DOCS", "BENCH", "MPI", "CUDA"):
            tools.cache_variables[f"ASHLAR_{part}"] = False
        tools.cache_variables["ASHLAR_COMPILED_LIBRARY"] = bool(self.options.compiled)
        # The package says which headers there are; the libraries read JSON only with that option.
        tools.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json"] = not (self.options.compiled and self.options.json)
        tools.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_range-v3"] = True
        tools.generate()
        CMakeDeps(self).generate()

    def build(self):
        if self.options.compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.install()
        parts = ["interop/json*"] * bool(self.options.json) + ["views.hpp"] * bool(self.options.views)
        for pattern in parts:
            copy(self, f"ashlar/{pattern}", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "ashlar")
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        has_threads = self.settings.os in ("Linux", "FreeBSD")
        self.cpp_info.components["ashlar"].set_property("cmake_target_name", "ashlar::ashlar")
        self.cpp_info.components["host"].set_property("cmake_target_name", "ashlar::host")
        self.cpp_info.components["host"].requires = ["ashlar"]
        if has_threads:
            self.cpp_info.components["host"].system_libs = ["pthread"]
        for part, needed in (("json", "nlohmann_json::nlohmann_json"), ("views", "range-v3::range-v3")):
            if self.options.get_safe(part):
                self.cpp_info.components[part].set_property("cmake_target_name", f"ashlar::{part}")
                self.cpp_info.components[part].requires = ["ashlar", needed]
        for component in self.cpp_info.components.values():
            component.bindirs = component.libdirs = []
        if not self.options.compiled:
            return
        for part, needed in (("compiled", "ashlar"), ("cost", "compiled"), ("plan", "compiled")):
            component = self.cpp_info.components[part]
            component.set_property("cmake_target_name", f"ashlar::{part}")
            component.libs = [f"ashlar_{part}"]
            component.requires = [needed] + ["json"] * bool(self.options.json)
        self.cpp_info.components["compiled"].defines = ["ASHLAR_COMPILED"]
        if has_threads:
            self.cpp_info.components["compiled"].system_libs = ["pthread"]
