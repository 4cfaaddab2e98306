//! Lets the linker leave Node's own symbols open; they are found in the process that loads the module.

fn main() {
    napi_build::setup();
}
