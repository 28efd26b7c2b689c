//! Vulkan's shaders by glslang, and what SPIRV-Cross makes of them for Metal. A SPIR-V instruction is a demand: what a
//! driver makes of it is its own, and whether it takes it at all is told by the capabilities listed with it. Metal is
//! reached as text alone: no compiler of Apple's runs here.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use labs_record::cells::{Backend, Cells, Old, Operation, Place, Scalar, Spelling, Target};

use crate::reading::{Dialect, assembly, metal_source};
use crate::{Column, Found, Key, Workshop, command, name, run, version};

const COMPILER: &str = "glslangValidator";
const DISASSEMBLER: &str = "spirv-dis";
const TRANSLATOR: &str = "spirv-cross";
const OPTIONS: [&str; 3] = ["-V", "--target-env", "vulkan1.3"];
/// Where shaders are kept in the workshop.
const SHADERS: &str = "shaders";
const METAL_OPTIONS: [&str; 3] = ["--msl", "--msl-version", "30100"];

/// Extensions of GLSL beyond the core's 32-bit integers.
const EXTENSIONS: [&str; 4] = [
    "GL_EXT_shader_explicit_arithmetic_types",
    "GL_EXT_shader_atomic_int64",
    "GL_EXT_shader_atomic_float",
    "GL_EXT_shader_atomic_float2",
];

/// The columns of SPIR-V and of Metal.
///
/// # Errors
/// A tool is missing; an operation that GLSL has is refused; code holds no atomic instruction.
pub fn columns(root: &Path) -> Result<[Column; 2]> {
    let workshop = Workshop::open()?;
    std::fs::create_dir(workshop.path().join(SHADERS)).context("no folder for the shaders")?;
    let (mut spirv, mut metal) = (BTreeMap::new(), BTreeMap::new());
    for key in Cells::wanted(Backend::Spirv) {
        let (demand, translation) = row(&workshop, key).with_context(|| name(key))?;
        spirv.insert(key, demand);
        metal.insert(key, translation);
    }
    let compiler = version(COMPILER)?;
    let from = format!("GLSL 4.60 with {}, {}", EXTENSIONS.join(", "), OPTIONS.join(" "));
    let demands = Target {
        name: "vulkan1.3".to_owned(),
        backend: Backend::Spirv,
        compiler: compiler.clone(),
        from: from.clone(),
        read_by: version(DISASSEMBLER)?,
        extent: run_here(&workshop, root)?,
    };
    let translations = Target {
        name: "msl3.1".to_owned(),
        backend: Backend::Metal,
        compiler: format!("{compiler}, then SPIRV-Cross {}", package_version("spirv-cross")),
        from: format!("{from}, then {}", METAL_OPTIONS.join(" ")),
        read_by: "the text in Metal's language".to_owned(),
        extent: "translated, not compiled: Apple's compiler does not run here".to_owned(),
    };
    Ok([(demands, spirv), (translations, metal)])
}

/// Runs the shaders on a Vulkan driver for the CPU, where there is one, and checks what they leave in memory. Gives how
/// far the evidence goes.
///
/// # Errors
/// A result is wrong, or the check lets a wrong one pass.
fn run_here(workshop: &Workshop, root: &Path) -> Result<String> {
    let Some((said, good)) = vulkan(workshop, root, SHADERS)? else {
        return Ok("compiled, not run: python3 is missing".to_owned());
    };
    if said.lines().any(|line| line.starts_with("wrong")) {
        anyhow::bail!("on a Vulkan driver: {}", said.trim());
    }
    let Some(line) = said.lines().last().filter(|_| good) else {
        return Ok("compiled, not run: no Vulkan driver for the CPU, or no binding to it".to_owned());
    };
    // An addition under a subtraction's name must be found out.
    let control = workshop.path().join("control");
    std::fs::create_dir(&control)?;
    std::fs::copy(
        workshop.path().join(SHADERS).join("add_i32_global_unused.spv"),
        control.join("sub_i32_global_unused.spv"),
    )?;
    match vulkan(workshop, root, "control")? {
        Some((said, false)) if said.starts_with("wrong") => Ok(line.to_owned()),
        _ => anyhow::bail!("scripts/vulkan_cells.py takes an addition for a subtraction"),
    }
}

/// What the script says of a folder's shaders, and whether it ended well; none without Python.
fn vulkan(workshop: &Workshop, root: &Path, folder: &str) -> Result<Option<(String, bool)>> {
    // The program runs in the workshop.
    let root = std::path::absolute(root).context("no current folder")?;
    // Python's binding to Vulkan lies where scripts/native-or-cas puts it.
    let output = std::process::Command::new("python3")
        .arg(root.join("scripts/vulkan_cells.py"))
        .arg(folder)
        .current_dir(workshop.path())
        .env("PYTHONPATH", root.join(".vulkan"))
        .output();
    let said = output
        .ok()
        .map(|output| (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success()));
    Ok(said)
}

/// SPIRV-Cross does not know its own version; Debian does.
fn package_version(package: &str) -> String {
    let asked = run("dpkg-query", &["--show", "--showformat=${Version}", package], Path::new("."));
    asked.map_or_else(
        |_| "of an unknown version".to_owned(),
        |version| format!("{version} (Debian's package)"),
    )
}

fn row(workshop: &Workshop, key: Key) -> Result<(Found, Found)> {
    let (operation, kind, ..) = key;
    let spelled = match spelling(operation, kind) {
        Ok(spelled) => spelled,
        Err(why) => return Ok((Found::absent(why), Found::absent(why))),
    };
    workshop.write("cell.comp", &shader(key, spelled))?;
    let mut arguments = OPTIONS.to_vec();
    let shader = format!("{SHADERS}/{}.spv", name(key));
    arguments.extend(["cell.comp", "-o", &shader]);
    let compiled = command(COMPILER, &arguments, workshop.path())?;
    if !compiled.status.success() {
        let said = String::from_utf8_lossy(&compiled.stdout).into_owned();
        let error = said.lines().find(|line| line.contains("ERROR")).unwrap_or("no word of why");
        anyhow::bail!("{COMPILER} refuses it: {error}");
    }
    let text = run(DISASSEMBLER, &["--no-color", &shader], workshop.path())?;
    let listing = assembly(Dialect::Spirv, &text).remove("main").unwrap_or_default();
    let answer = listing.answer(operation).context("it holds no atomic instruction")?;
    let demand = Found { needs: needs(&text), ..Found::read(answer, spelled) };
    Ok((demand, translation(workshop, &shader, operation, spelled)?))
}

/// Capabilities beyond the one of every shader.
fn needs(text: &str) -> Vec<String> {
    let words = text.lines().filter_map(|line| line.trim().strip_prefix("OpCapability "));
    words.map(|word| word.trim().to_owned()).filter(|word| word != "Shader").collect()
}

fn translation(workshop: &Workshop, shader: &str, operation: Operation, spelled: Spelling) -> Result<Found> {
    let mut arguments = METAL_OPTIONS.to_vec();
    arguments.push(shader);
    let output = command(TRANSLATOR, &arguments, workshop.path())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let why = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gives no reason");
        return Ok(Found::absent(format!("SPIRV-Cross refuses it: {}", why.trim())));
    }
    // Metal's 64-bit atomics are a minimum and a maximum of newer devices, which this version does not write.
    let invalid = text.contains("atomic_ulong") || text.contains("atomic_long");
    match metal_source(&text).answer(operation) {
        Some(_) if invalid => {
            Ok(Found::absent("SPIRV-Cross writes a 64-bit atomic that Metal does not have"))
        }
        Some(answer) => Ok(Found::read(answer, spelled)),
        None => Ok(Found::absent("SPIRV-Cross leaves GLSL’s function in its text: it knows none of Metal’s")),
    }
}

/// How GLSL spells an operation, or why it can't.
fn spelling(operation: Operation, kind: Scalar) -> Result<Spelling, &'static str> {
    use Operation::{Add, And, Cas, Exchange, Max, Min, Mul, Or, Sub, Xor};
    match (operation, kind) {
        (_, Scalar::Bf16) => Err("this glslang has no bfloat16"),
        (_, Scalar::F16x2) => Err("atomics on f16vec2 are an extension of NVIDIA’s that this glslang lacks"),
        // Sixteen bits are neither compared and swapped, nor is there a type to do it in.
        (Mul | Cas, Scalar::F16) => Err("GLSL compares and swaps 32 and 64 bits only"),
        (Cas, Scalar::F32 | Scalar::F64) => Err("GLSL compares and swaps integers only"),
        // A buffer of floats can't be read as integers, and its words compared, in one shader without aliasing.
        (Mul, _) => Ok(Spelling::Loop),
        (Add | Sub | Min | Max | And | Or | Xor | Exchange | Cas, _) => Ok(Spelling::Function),
    }
}

fn shader(key: Key, spelled: Spelling) -> String {
    let (operation, kind, place, old) = key;
    let word = match kind {
        Scalar::I32 => "int",
        Scalar::U32 => "uint",
        Scalar::I64 => "int64_t",
        Scalar::U64 => "uint64_t",
        Scalar::F16 | Scalar::Bf16 | Scalar::F16x2 => "float16_t",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    };
    // Floats are multiplied on their bits, so the memory holds bits.
    let (held, to, from) = match (spelled, kind) {
        (Spelling::Loop, Scalar::F32) => ("uint", "floatBitsToUint", "uintBitsToFloat"),
        (Spelling::Loop, Scalar::F64) => ("uint64_t", "doubleBitsToUint64", "uint64BitsToDouble"),
        _ => (word, "", ""),
    };
    let target = if place == Place::Global { "p[k]" } else { "tile[k]" };
    let call = match operation {
        Operation::Add => format!("atomicAdd({target}, v)"),
        Operation::Sub => format!("atomicAdd({target}, -v)"),
        Operation::Min | Operation::Max | Operation::And | Operation::Or | Operation::Xor => {
            let verb = format!("{operation}");
            let (head, tail) = verb.split_at(1);
            format!("atomic{}{tail}({target}, v)", head.to_uppercase())
        }
        Operation::Exchange => format!("atomicExchange({target}, v)"),
        Operation::Cas => format!("atomicCompSwap({target}, v, v + {word}(1))"),
        Operation::Mul => "product(k, v)".to_owned(),
    };
    let product = format!(
        "{word} product(uint k, {word} v) {{\n  {held} seen = {target};\n  for (;;) {{\n    {held} old = seen;\n    \
         seen = atomicCompSwap({target}, old, {to}({from}(old) * v));\n    if (seen == old) return {from}(seen);\n  }}\n}}\n"
    );
    let product = if spelled == Spelling::Loop { product } else { String::new() };
    let extensions: String = EXTENSIONS.iter().map(|name| format!("#extension {name} : require\n")).collect();
    let (keep, call) = match old {
        Old::Used => (" results[lane] = old;", format!("{word} old = {call};")),
        Old::Unused => ("", format!("{call};")),
    };
    let shared = match place {
        Place::Global => String::new(),
        Place::Shared => format!("shared {held} tile[64];\n"),
    };
    let (fill, empty) = match place {
        Place::Global => ("", ""),
        Place::Shared => (" tile[lane] = p[lane]; barrier();", " barrier(); p[lane] = tile[lane];"),
    };
    format!(
        "#version 460\n{extensions}layout(local_size_x = 64) in;\n\
         layout(set = 0, binding = 0) buffer Words {{ {held} p[]; }};\n\
         layout(set = 0, binding = 1) readonly buffer Places {{ uint at[]; }};\n\
         layout(set = 0, binding = 2) readonly buffer Operands {{ {word} operands[]; }};\n\
         layout(set = 0, binding = 3) writeonly buffer Results {{ {word} results[]; }};\n\
         {shared}{product}void main() {{\n  uint lane = gl_LocalInvocationID.x, k = at[lane];\n  \
         {word} v = operands[lane];{fill}\n  {call}{keep}{empty}\n}}\n"
    )
}
