//! Gives the shared library its soname, which rustc does not: `libgallivant.so.<major version>`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo sets both for every build script.
    #[expect(clippy::disallowed_methods, reason = "cargo speaks to build scripts through the environment")]
    let [system, major] = ["CARGO_CFG_TARGET_OS", "CARGO_PKG_VERSION_MAJOR"].map(std::env::var);
    if system.as_deref() == Ok("linux") {
        let major = major.expect("cargo sets CARGO_PKG_VERSION_MAJOR");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgallivant.so.{major}");
    }
}
