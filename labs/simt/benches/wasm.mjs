// Lane-instructions a second of the simulator as WebAssembly: node labs/simt/benches/wasm.mjs
// Builds the example `block_tree` for wasm32-unknown-unknown and runs it here.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const target = "wasm32-unknown-unknown";
const build = ["build", "--release", "--quiet", "--package", "labs-simt", "--example", "block_tree", "--target", target];
execFileSync("cargo", build, { cwd: root, stdio: "inherit" });
const metadata = execFileSync("cargo", ["metadata", "--format-version", "1", "--no-deps"], { cwd: root });
const folder = JSON.parse(metadata).target_directory;
const bytes = readFileSync(`${folder}/${target}/release/examples/block_tree.wasm`);

const { instance } = await WebAssembly.instantiate(bytes, {});
const rates = [];
for (let round = 0; round < 5; round += 1) {
  const start = performance.now();
  const millions = instance.exports.main(0, 0);
  const seconds = (performance.now() - start) / 1000;
  if (millions === 0) throw new Error("block_tree failed in WebAssembly");
  rates.push(millions / seconds);
}
rates.sort((a, b) => a - b);
const shown = rates.map((rate) => rate.toFixed(0)).join(", ");
console.log(`million lane-instructions a second: ${shown} (median ${rates[2].toFixed(0)})`);
console.log(`module: ${bytes.length} bytes, ${gzipSync(bytes).length} compressed`);
