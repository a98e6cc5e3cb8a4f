# Where Ashlar is published, and whom to write to. A release fills these in here; packages, pkg-config and the site read them.
set(ASHLAR_REPOSITORY "" CACHE STRING "address of the repository, such as https://host/owner/ashlar")
set(ASHLAR_SITE "" CACHE STRING "address of the documentation's site, which ends in /")
set(ASHLAR_MAINTAINER "The Ashlar maintainers" CACHE STRING "name and address of who maintains the packages: Name <address>")
mark_as_advanced(ASHLAR_REPOSITORY ASHLAR_SITE ASHLAR_MAINTAINER)
