"""Runs compute shaders of the table of operations on a Vulkan driver for the CPU and checks what they leave in memory.

    vulkan_cells.py FOLDER      FOLDER/<operation>_<type>_<place>_<old>.spv

The last line says how many ran; a line before it names each that did not, with the reason. Exit code 1 if a result
is wrong. Needs the package `vulkan` of PyPI and a driver such as Mesa's lavapipe.
"""
import os
import struct
import sys

import vulkan as vk

LANES = 64
KINDS = {'i32': 'i', 'u32': 'I', 'i64': 'q', 'u64': 'Q', 'f16': 'e', 'f32': 'f', 'f64': 'd'}
# SPIR-V's capability and the driver's feature that offers it.
FEATURES = [
    ('Int64Atomics', 'VkPhysicalDeviceVulkan12Features', {'global': 'shaderBufferInt64Atomics', 'shared': 'shaderSharedInt64Atomics'}),
    ('AtomicFloat32AddEXT', 'VkPhysicalDeviceShaderAtomicFloatFeaturesEXT',
     {'global': 'shaderBufferFloat32AtomicAdd', 'shared': 'shaderSharedFloat32AtomicAdd'}),
    ('AtomicFloat64AddEXT', 'VkPhysicalDeviceShaderAtomicFloatFeaturesEXT',
     {'global': 'shaderBufferFloat64AtomicAdd', 'shared': 'shaderSharedFloat64AtomicAdd'}),
    ('AtomicFloat16AddEXT', 'VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT',
     {'global': 'shaderBufferFloat16AtomicAdd', 'shared': 'shaderSharedFloat16AtomicAdd'}),
    ('AtomicFloat16MinMaxEXT', 'VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT',
     {'global': 'shaderBufferFloat16AtomicMinMax', 'shared': 'shaderSharedFloat16AtomicMinMax'}),
    ('AtomicFloat32MinMaxEXT', 'VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT',
     {'global': 'shaderBufferFloat32AtomicMinMax', 'shared': 'shaderSharedFloat32AtomicMinMax'}),
    ('AtomicFloat64MinMaxEXT', 'VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT',
     {'global': 'shaderBufferFloat64AtomicMinMax', 'shared': 'shaderSharedFloat64AtomicMinMax'}),
]
# Exchanges of floats demand a feature and no capability of their own.
EXCHANGES = {
    'f32': ('VkPhysicalDeviceShaderAtomicFloatFeaturesEXT', {'global': 'shaderBufferFloat32Atomics', 'shared': 'shaderSharedFloat32Atomics'}),
    'f64': ('VkPhysicalDeviceShaderAtomicFloatFeaturesEXT', {'global': 'shaderBufferFloat64Atomics', 'shared': 'shaderSharedFloat64Atomics'}),
    'f16': ('VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT', {'global': 'shaderBufferFloat16Atomics', 'shared': 'shaderSharedFloat16Atomics'}),
}
CHAIN = ['VkPhysicalDeviceShaderAtomicFloatFeaturesEXT', 'VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT',
         'VkPhysicalDeviceVulkan12Features', 'VkPhysicalDeviceVulkan11Features']


class Gpu:
    """The first driver for the CPU, with everything it offers enabled."""

    def __init__(self):
        app = vk.VkApplicationInfo(apiVersion=vk.VK_MAKE_VERSION(1, 3, 0))
        self.instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=app), None)
        for physical in vk.vkEnumeratePhysicalDevices(self.instance):
            properties = vk.vkGetPhysicalDeviceProperties(physical)
            if properties.deviceType == vk.VK_PHYSICAL_DEVICE_TYPE_CPU:
                break
        else:
            sys.exit('no Vulkan driver for the CPU; on Debian: apt-get install mesa-vulkan-drivers')
        self.physical, self.name = physical, properties.deviceName
        offered = {e.extensionName for e in vk.vkEnumerateDeviceExtensionProperties(physical, None)}
        chain = None
        self.features = {}
        for name in CHAIN:
            chain = getattr(vk, name)(pNext=chain)
            self.features[name] = chain
        all_features = vk.vkGetPhysicalDeviceFeatures2(physical, vk.VkPhysicalDeviceFeatures2(pNext=chain))
        wanted = ['VK_EXT_shader_atomic_float', 'VK_EXT_shader_atomic_float2']
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=0, queueCount=1, pQueuePriorities=[1.0])
        create = vk.VkDeviceCreateInfo(
            pNext=all_features, pQueueCreateInfos=[queue],
            ppEnabledExtensionNames=[name for name in wanted if name in offered])
        self.device = vk.vkCreateDevice(physical, create, None)
        self.queue = vk.vkGetDeviceQueue(self.device, 0, 0)
        self.pool = vk.vkCreateCommandPool(self.device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=0), None)

    def offers(self, struct_name, feature):
        return bool(getattr(self.features[struct_name], feature))

    def buffer(self, data):
        info = vk.VkBufferCreateInfo(size=len(data), usage=vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)
        buffer = vk.vkCreateBuffer(self.device, info, None)
        needs = vk.vkGetBufferMemoryRequirements(self.device, buffer)
        # A driver for the CPU has one kind of memory, and the host sees it.
        memory = vk.vkAllocateMemory(self.device, vk.VkMemoryAllocateInfo(allocationSize=needs.size, memoryTypeIndex=0), None)
        vk.vkBindBufferMemory(self.device, buffer, memory, 0)
        view = vk.vkMapMemory(self.device, memory, 0, len(data), 0)
        view[:] = data
        return buffer, view

    def run(self, code, buffers, groups):
        module = vk.vkCreateShaderModule(self.device, vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code), None)
        bindings = [vk.VkDescriptorSetLayoutBinding(
            binding=n, descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=1,
            stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT) for n in range(len(buffers))]
        sets = vk.vkCreateDescriptorSetLayout(self.device, vk.VkDescriptorSetLayoutCreateInfo(pBindings=bindings), None)
        layout = vk.vkCreatePipelineLayout(self.device, vk.VkPipelineLayoutCreateInfo(pSetLayouts=[sets]), None)
        stage = vk.VkPipelineShaderStageCreateInfo(stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName='main')
        pipeline = vk.vkCreateComputePipelines(
            self.device, None, 1, [vk.VkComputePipelineCreateInfo(stage=stage, layout=layout)], None)
        pipeline = pipeline[0] if isinstance(pipeline, (list, tuple)) or hasattr(pipeline, '__len__') else pipeline
        size = vk.VkDescriptorPoolSize(type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=len(buffers))
        pool = vk.vkCreateDescriptorPool(self.device, vk.VkDescriptorPoolCreateInfo(maxSets=1, pPoolSizes=[size]), None)
        chosen = vk.vkAllocateDescriptorSets(
            self.device, vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=[sets]))[0]
        writes = [vk.VkWriteDescriptorSet(
            dstSet=chosen, dstBinding=n, descriptorCount=1, descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            pBufferInfo=[vk.VkDescriptorBufferInfo(buffer=buffer, offset=0, range=len(view))])
            for n, (buffer, view) in enumerate(buffers)]
        vk.vkUpdateDescriptorSets(self.device, len(writes), writes, 0, None)
        commands = vk.vkAllocateCommandBuffers(
            self.device, vk.VkCommandBufferAllocateInfo(commandPool=self.pool, commandBufferCount=1))[0]
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        vk.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, pipeline)
        vk.vkCmdBindDescriptorSets(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, [chosen], 0, None)
        vk.vkCmdDispatch(commands, groups, 1, 1)
        vk.vkEndCommandBuffer(commands)
        vk.vkQueueSubmit(self.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], None)
        vk.vkQueueWaitIdle(self.queue)


def wanted(operation, kind, start, operands):
    """What any order of the updates leaves in the word; for those that keep one operand, all that may be left."""
    bits = {'i': 32, 'I': 32, 'q': 64, 'Q': 64}.get(KINDS[kind])
    wrap = (lambda x: x) if bits is None else (lambda x: struct.unpack(KINDS[kind], struct.pack(KINDS[kind].upper(), x % 2**bits))[0])
    word = start
    for v in operands:
        word = {
            'add': lambda: wrap(word + v), 'sub': lambda: wrap(word - v), 'mul': lambda: wrap(word * v),
            'min': lambda: min(word, v), 'max': lambda: max(word, v), 'and': lambda: word & v,
            'or': lambda: word | v, 'xor': lambda: word ^ v,
        }.get(operation, lambda: word)()
    if operation == 'exchange':
        return set(operands)
    if operation == 'cas':
        return {v + 1 for v in operands} if start in operands else {start}
    return {word}


def main(folder):
    gpu = Gpu()
    ran, refused, wrong = 0, [], []
    for file in sorted(os.listdir(folder)):
        operation, kind, place, _ = file.removesuffix('.spv').split('_')
        code = open(os.path.join(folder, file), 'rb').read()
        capabilities = {struct.unpack_from('<I', code, at + 4)[0] for at in range(20, len(code), 4)
                        if struct.unpack_from('<I', code, at)[0] == 0x00020011}
        lacking = [name for name, holder, by_place in FEATURES
                   if CAPABILITIES[name] in capabilities and not gpu.offers(holder, by_place[place])]
        if operation == 'exchange' and kind in EXCHANGES and not gpu.offers(EXCHANGES[kind][0], EXCHANGES[kind][1][place]):
            lacking.append(EXCHANGES[kind][1][place])
        if lacking:
            refused.append(f"{file.removesuffix('.spv')}: {', '.join(lacking)}")
            continue
        groups = 16 if place == 'global' else 1
        letter = KINDS[kind]
        operands = [(n % 4) + 1 for n in range(LANES)]
        if operation == 'mul':
            operands = [[2, 0.5][n % 2] if letter in 'efd' else 2 * n + 1 for n in range(LANES)]
        start = 3
        words = gpu.buffer(struct.pack(f'{LANES}{letter}', *[start] * LANES))
        at = gpu.buffer(struct.pack(f'{LANES}I', *[0] * LANES))
        values = gpu.buffer(struct.pack(f'{LANES}{letter}', *operands))
        results = gpu.buffer(bytes(8 * LANES))
        gpu.run(code, [words, at, values, results], groups)
        left = struct.unpack_from(letter, bytes(words[1][:8]))[0]
        if left in wanted(operation, kind, start, operands * groups):
            ran += 1
        else:
            wrong.append(f"{file.removesuffix('.spv')}: {left} is left")
    for line in wrong:
        print('wrong:', line)
    for line in refused:
        print('not offered:', line)
    missing = sorted({name for line in refused for name in line.split(': ')[1].split(', ')})
    lacks = f', which lacks {", ".join(missing)}' if missing else ''
    print(f'run here on {gpu.name}{lacks}: {ran} shaders, what was left in memory checked; {len(refused)} not offered')
    return 1 if wrong else 0


# Numbers of SPIR-V's specification.
CAPABILITIES = {
    'Int64Atomics': 12, 'AtomicFloat32AddEXT': 6033, 'AtomicFloat64AddEXT': 6034, 'AtomicFloat16AddEXT': 6095,
    'AtomicFloat32MinMaxEXT': 5612, 'AtomicFloat64MinMaxEXT': 5613, 'AtomicFloat16MinMaxEXT': 5616,
}

if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
