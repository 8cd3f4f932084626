//! Tells the program which version of rdkafka Cargo.toml asks for.

fn main() {
    let manifest = std::fs::read_to_string("Cargo.toml").unwrap();
    let rest = manifest.split("rdkafka = { version = \"=").nth(1).unwrap();
    println!("cargo:rustc-env=CLIENT_VERSION={}", rest.split('"').next().unwrap());
    println!("cargo:rerun-if-changed=Cargo.toml");
}
