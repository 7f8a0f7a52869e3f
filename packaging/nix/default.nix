# SPDX-License-Identifier: MIT OR Apache-2.0
# nix-build packaging/nix, in a checkout; then result/bin/rota. Crates come by Cargo.lock.
{ pkgs ? import <nixpkgs> { } }:

pkgs.rustPlatform.buildRustPackage {
  pname = "rota";
  version = (builtins.fromTOML (builtins.readFile ../../Cargo.toml)).workspace.package.version;
  src = pkgs.lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [ "--package" "rota" ];

  # libelf and zlib are compiled along, with autotools.
  nativeBuildInputs = with pkgs; [
    autoconf
    automake
    bison
    flex
    gawk
    gettext
    llvmPackages_19.clang-unwrapped
    llvmPackages_19.llvm
    m4
    pkg-config
  ];
  # The wrapped compiler adds flags of the host, which a BPF target does not have.
  CLANG = "${pkgs.llvmPackages_19.clang-unwrapped}/bin/clang";

  # The tests need programs and files that a sandbox does not have: make test runs them.
  doCheck = false;

  postInstall = ''
    patchShebangs scripts packaging/systemd
    mv $out/bin/rota rota
    ROTA=./rota PREFIX=$out SYSCONFDIR=$out/etc bash scripts/install
  '';

  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/rota sim wfq workloads/shares321.json --cpus 1 --duration 1s
  '';

  meta = with pkgs.lib; {
    description = "Try CPU scheduling policies on your own workload, then run the winner";
    license = with licenses; [ mit asl20 gpl2Only ];
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "rota";
  };
}
