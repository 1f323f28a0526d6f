# SPDX-License-Identifier: Apache-2.0
target_sources(samebits_objects PRIVATE src/device/cpu_device.c src/device/device_open.c src/device/opencl_device.c
  src/device/opencl_program.c src/device/cuda_device.c src/device/device_probe.c)
