/* utf8.c - decoding UTF-8 and the width of text on a terminal.
 *
 * Widths follow Unicode's East Asian Width and the general categories Mn, Me and Cf, by a short table of the blocks that
 * occur in practice; a character outside the table counts one column. A byte that is not UTF-8 counts one, since what
 * prints it shows a replacement character. */
#include "base/base.h"

/* Decodes the character at p, of at most n bytes (n > 0): its length, or 0 if it is not valid UTF-8 (overlong forms,
 * surrogates and numbers above 0x10FFFF are not). */
size_t utf8_decode(const char *p, size_t n, uint32_t *c) {
    const unsigned char *s = (const unsigned char *)p;
    if (s[0] < 0x80) {
        *c = s[0];
        return 1;
    }
    size_t len = s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : s[0] >= 0xE0 && s[0] < 0xF0 ? 3 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : 0;
    if (!len || len > n)
        return 0;
    uint32_t r = s[0] & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        r = r << 6 | (s[i] & 0x3Fu);
    }
    if ((len == 3 && r < 0x800) || (len == 4 && (r < 0x10000 || r > 0x10FFFF)) || (r >= 0xD800 && r < 0xE000))
        return 0;
    *c = r;
    return len;
}

bool utf8_valid(const char *p, size_t nbytes, size_t *bad) {
    for (size_t i = 0; i < nbytes;) {
        uint32_t c;
        size_t n = utf8_decode(p + i, nbytes - i, &c);
        if (!n) {
            if (bad)
                *bad = i;
            return false;
        }
        i += n;
    }
    return true;
}

typedef struct WidthRange { uint32_t first, last; uint8_t width; } WidthRange;
static const WidthRange width_ranges[] = {                /* sorted */
    { 0x0300, 0x036F, 0 }, { 0x0483, 0x0489, 0 }, { 0x0591, 0x05BD, 0 }, { 0x064B, 0x065F, 0 }, { 0x1100, 0x115F, 2 },
    { 0x1AB0, 0x1AFF, 0 }, { 0x1DC0, 0x1DFF, 0 }, { 0x200B, 0x200F, 0 }, { 0x202A, 0x202E, 0 }, { 0x2060, 0x2064, 0 },
    { 0x20D0, 0x20FF, 0 }, { 0x231A, 0x231B, 2 }, { 0x23E9, 0x23EC, 2 }, { 0x2614, 0x2615, 2 }, { 0x2648, 0x2653, 2 },
    { 0x26A1, 0x26A1, 2 }, { 0x2705, 0x2705, 2 }, { 0x2728, 0x2728, 2 }, { 0x274C, 0x274C, 2 }, { 0x2753, 0x2757, 2 },
    { 0x2E80, 0x303E, 2 }, { 0x3041, 0x3098, 2 }, { 0x3099, 0x309A, 0 }, { 0x309B, 0x4DBF, 2 }, { 0x4E00, 0xA4CF, 2 },
    { 0xA960, 0xA97F, 2 }, { 0xAC00, 0xD7A3, 2 }, { 0xF900, 0xFAFF, 2 }, { 0xFE00, 0xFE0F, 0 }, { 0xFE20, 0xFE2F, 0 },
    { 0xFE30, 0xFE6F, 2 }, { 0xFEFF, 0xFEFF, 0 }, { 0xFF00, 0xFF60, 2 }, { 0xFFE0, 0xFFE6, 2 }, { 0x1F004, 0x1F004, 2 },
    { 0x1F0CF, 0x1F0CF, 2 }, { 0x1F18E, 0x1F19A, 2 }, { 0x1F200, 0x1F320, 2 }, { 0x1F32D, 0x1F335, 2 },
    { 0x1F337, 0x1F37C, 2 }, { 0x1F37E, 0x1F393, 2 }, { 0x1F3A0, 0x1F3CA, 2 }, { 0x1F3F8, 0x1F43E, 2 },
    { 0x1F440, 0x1F4FC, 2 }, { 0x1F4FF, 0x1F53D, 2 }, { 0x1F5FB, 0x1F64F, 2 }, { 0x1F680, 0x1F6C5, 2 },
    { 0x1F900, 0x1F9FF, 2 }, { 0x1FA70, 0x1FAFF, 2 }, { 0x20000, 0x3FFFD, 2 }, { 0xE0100, 0xE01EF, 0 },
};

static unsigned char_width(uint32_t c) {
    size_t lo = 0, hi = COUNT_OF(width_ranges);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c > width_ranges[mid].last)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < COUNT_OF(width_ranges) && c >= width_ranges[lo].first ? width_ranges[lo].width : 1;
}

size_t display_width(const char *p, size_t nbytes) {
    size_t width = 0;
    for (size_t i = 0; i < nbytes;) {
        uint32_t c;
        size_t n = utf8_decode(p + i, nbytes - i, &c);
        width += n ? char_width(c) : 1;
        i += n ? n : 1;
    }
    return width;
}
