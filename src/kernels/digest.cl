// SPDX-License-Identifier: Apache-2.0
// The leaves of a digest tree (contract T10): SHA-256 (FIPS 180-4) of each 65,536 of an array's bytes, one lane a leaf. For
// devices whose memory is not the host's; the host itself has instructions for it (base/sha256.c).

#if T_BITS == 32
TABLE u32 sbi_sha_constants[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

FN u32 sbi_turn(u32 x, i32 n) { return x >> n | x << (32 - n); }

// Byte `at` of a message of `size` bytes and its end: a one bit, zeros, the length in bits as the last eight bytes of `whole`.
FN u32 sbi_sha_byte(GLOBAL const uint8_t *message, i32 at, i32 size, i32 whole) {
    if (at < size) return message[at];
    if (at == size) return 0x80u;
    return at < whole - 4 ? 0u : (u32)size * 8u >> (8 * (whole - 1 - at)) & 255u; // (a leaf is shorter than 2^32 bits)
}

// digests[leaves, 8], the words in the order of the standard. A group is 16 leaves.
KERNEL void k_leaf_digests(GLOBAL const uint8_t *RESTRICT bytes, GLOBAL u32 *RESTRICT digests, i64 size, i64 leaves GROUP_PARAM) {
    i64 first = GROUP() * 16;
    PHASE(l, sbi_lanes(leaves - first, 16)) {
        GLOBAL const uint8_t *message = bytes + (first + l) * 65536;
        i32 length = sbi_lanes(size - (first + l) * 65536, 65536), whole = (length + 9 + 63) / 64 * 64;
        u32 state[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
        u32 w[16];
        for (i32 block = 0; block < whole; block += 64) {
            if (block + 64 <= length) {
                for (i32 i = 0; i < 16; i++) {
                    GLOBAL const uint8_t *at = message + block + 4 * i;
                    w[i] = (u32)at[0] << 24 | (u32)at[1] << 16 | (u32)at[2] << 8 | at[3];
                }
            } else {
                for (i32 i = 0; i < 16; i++) {
                    i32 at = block + 4 * i;
                    w[i] = sbi_sha_byte(message, at, length, whole) << 24 | sbi_sha_byte(message, at + 1, length, whole) << 16 |
                           sbi_sha_byte(message, at + 2, length, whole) << 8 | sbi_sha_byte(message, at + 3, length, whole);
                }
            }
            u32 a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
            for (i32 i = 0; i < 64; i++) {
                u32 x = w[i & 15], old = w[(i + 1) & 15], late = w[(i + 14) & 15]; // x is word i; word i + 16 takes its place
                u32 t = h + (sbi_turn(e, 6) ^ sbi_turn(e, 11) ^ sbi_turn(e, 25)) + ((e & f) ^ (~e & g)) + sbi_sha_constants[i] + x;
                u32 s = (sbi_turn(a, 2) ^ sbi_turn(a, 13) ^ sbi_turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
                w[i & 15] = x + (sbi_turn(old, 7) ^ sbi_turn(old, 18) ^ old >> 3) + w[(i + 9) & 15] +
                            (sbi_turn(late, 17) ^ sbi_turn(late, 19) ^ late >> 10);
                h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + s;
            }
            state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
        }
        for (i32 i = 0; i < 8; i++) {
            digests[(first + l) * 8 + i] = state[i];
        }
    } LANE_END
}
#endif
