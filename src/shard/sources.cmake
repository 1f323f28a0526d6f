# SPDX-License-Identifier: Apache-2.0
target_sources(samebits_objects PRIVATE src/shard/tree.c src/shard/message.c)
