// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel whose lanes are the query rows i0 .. i0 + rows - 1: the blocks of keys that they
// see. Those of the prefix, then `start` .. last - 1.
    i64 stride = g * d, position = first + i0, start = position > behind ? (position - behind) / 128 * 128 : 0;
    i64 last = position + rows + ahead > prefix ? position + rows + ahead : prefix;
    last = last < keys ? last : keys;
