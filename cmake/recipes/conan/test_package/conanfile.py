"""Builds and runs the project of test/consumer with the package."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestAshlar(ConanFile):
    settings = "os", "compiler", "build_type", "arch"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        project = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "test", "consumer", "project")
        libraries = bool(self.dependencies["ashlar"].options.compiled)
        cmake.configure(variables={"WAY": "find_package", "LIBRARIES": libraries}, build_script_folder=project)
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "consumer"), env="conanrun")
