# SPDX-License-Identifier: BSD-3-Clause
"""Holds that each name of the standard library comes from a header that was asked for: by the file that uses it, or by
one of ours that it includes. What a standard header brings along beyond its own names differs between libraries and
from one version to the next: GCC 14's <string> has no <cstdint> any more, and a header that had relied on it did not
compile there.
usage: includes.py SOURCE_FOLDER"""
import pathlib
import re
import sys

# The names of each header, in namespace std; of those that stand in several, each header that the standard promises
# them of. What follows std:: in ranges, chrono and so on counts by that word, unless the table has it in full.
HEADERS = {
    "algorithm": """all_of any_of none_of sort stable_sort find find_if count count_if min max clamp minmax minmax_element
        fill fill_n copy copy_n copy_if transform unique reverse reverse_copy shuffle rotate equal mismatch remove
        remove_if lower_bound upper_bound binary_search max_element min_element nth_element stable_partition partition
        is_sorted generate for_each includes replace replace_if merge search set_difference set_union set_intersection
        lexicographical_compare swap_ranges adjacent_find partial_sort next_permutation
        ranges::all_of ranges::any_of ranges::none_of ranges::sort ranges::stable_sort ranges::find ranges::find_if
        ranges::find_if_not ranges::count ranges::count_if ranges::fill ranges::copy ranges::move ranges::transform
        ranges::unique ranges::reverse ranges::shuffle ranges::equal ranges::mismatch ranges::lower_bound
        ranges::upper_bound ranges::binary_search ranges::max_element ranges::min_element ranges::nth_element ranges::is_sorted
        ranges::includes ranges::replace ranges::replace_if ranges::set_difference ranges::set_union
        ranges::set_intersection ranges::max ranges::min ranges::adjacent_find ranges::remove_if ranges::for_each
        ranges::rotate ranges::generate ranges::copy_if ranges::contains""",
    "array": "array to_array begin end size data get tuple_size swap",
    "atomic": """atomic atomic_flag atomic_ref atomic_thread_fence atomic_signal_fence memory_order memory_order_relaxed
        memory_order_acquire memory_order_release memory_order_acq_rel memory_order_seq_cst""",
    "barrier": "barrier",
    "bit": """rotl rotr bit_floor bit_ceil bit_width bit_cast has_single_bit popcount countr_zero countr_one countl_zero
        countl_one endian byteswap""",
    "cctype": "tolower toupper isalnum isalpha isdigit isxdigit isspace isprint iscntrl ispunct isupper islower",
    "cerrno": "",
    "charconv": "from_chars to_chars from_chars_result chars_format errc",
    "chrono": "chrono chrono_literals",
    "climits": "",
    "cmath": "llround abs sqrt pow floor ceil isnan isinf fabs log log2 log10 exp round lround sin cos fmod hypot nextafter",
    "compare": "strong_ordering weak_ordering partial_ordering",
    "complex": "complex abs norm conj real imag",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "csignal": "signal raise sig_atomic_t",
    "cstdarg": "va_list",
    "cstddef": "size_t ptrdiff_t nullptr_t max_align_t byte to_integer",
    "cstdint": """int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t
        uintmax_t int_fast32_t uint_fast32_t""",
    "cstdio": """printf fprintf snprintf vsnprintf vfprintf sprintf sscanf fscanf puts fputs fputc putchar getchar fgets
        fgetc fflush fopen fclose fread fwrite ferror feof fileno setvbuf perror rename remove FILE size_t tmpfile fseek
        ftell rewind""",
    "cstdlib": """getenv setenv abort exit _Exit quick_exit at_quick_exit atexit malloc calloc realloc free aligned_alloc
        atoi atol atoll atof strtol strtoll strtoul strtoull strtod system abs rand srand size_t div mkstemp""",
    "cstring": """memcpy memmove memset memcmp memchr strcmp strncmp strlen strcpy strncpy strcat strncat strchr strrchr
        strstr strerror strpbrk strspn strcspn strtok size_t""",
    "ctime": "time clock clock_t time_t tm timespec localtime gmtime mktime strftime difftime size_t",
    "cwchar": "wchar_t wcslen size_t",
    "deque": "deque begin end size data erase erase_if swap",
    "exception": "exception terminate exception_ptr current_exception uncaught_exceptions",
    "filesystem": "filesystem error_code",
    "format": "format",
    "forward_list": "forward_list",
    "fstream": "ifstream ofstream fstream filebuf ios ios_base streamsize streamoff",
    "functional": """function plus minus multiplies less greater equal_to not_equal_to bit_and bit_or hash ref cref bind
        reference_wrapper invoke not_fn identity ranges::less ranges::greater ranges::equal_to ranges::not_equal_to
        mem_fn logical_and logical_or""",
    "future": "future promise async launch packaged_task",
    "initializer_list": "initializer_list begin end",
    "iomanip": "setw setprecision setfill hex fixed quoted",
    "ios": "ios ios_base streamsize streamoff",
    "iosfwd": "",
    "iostream": "cout cerr cin clog wcout wclog wcerr ios ios_base streamsize ostream istream endl flush",
    "istream": "istream iostream",
    "iterator": """begin end size ssize data empty next prev distance advance back_inserter inserter front_inserter
        istreambuf_iterator istream_iterator ostream_iterator reverse_iterator input_iterator_tag forward_iterator_tag
        random_access_iterator_tag bidirectional_iterator_tag iterator_traits make_move_iterator ranges::next
        ranges::prev ranges::distance contiguous_iterator_tag rbegin rend default_sentinel_t""",
    "latch": "latch",
    "limits": "numeric_limits",
    "list": "list begin end size data erase erase_if swap",
    "locale": "locale tolower toupper isspace isalpha",
    "map": "map multimap pair begin end size data erase_if swap",
    "memory": """unique_ptr shared_ptr weak_ptr make_unique make_shared make_unique_for_overwrite enable_shared_from_this
        allocator allocator_traits construct_at destroy_at destroy_n destroy uninitialized_value_construct_n
        uninitialized_copy uninitialized_default_construct_n addressof align static_pointer_cast dynamic_pointer_cast
        default_delete hash swap assume_aligned to_address""",
    "mutex": """mutex recursive_mutex timed_mutex lock_guard unique_lock scoped_lock defer_lock try_to_lock adopt_lock
        adopt_lock_t call_once once_flag lock swap""",
    "new": "nothrow align_val_t launder bad_alloc set_new_handler hardware_destructive_interference_size",
    "numbers": "numbers",
    "numeric": "iota accumulate partial_sum reduce gcd lcm inner_product exclusive_scan inclusive_scan midpoint",
    "optional": "optional nullopt nullopt_t make_optional in_place hash swap",
    "ostream": "ostream endl flush",
    "queue": "queue priority_queue",
    "random": """mt19937 mt19937_64 minstd_rand random_device uniform_int_distribution uniform_real_distribution seed_seq
        normal_distribution bernoulli_distribution discrete_distribution""",
    "ranges": """views ranges::subrange ranges::view ranges::views ranges::range ranges::ref_view ranges::iota_view
        ranges::size ranges::begin ranges::end ranges::empty ranges::data""",
    "ratio": "ratio milli micro nano",
    "semaphore": "counting_semaphore binary_semaphore",
    "set": "set multiset begin end size data erase_if swap",
    "shared_mutex": "shared_mutex shared_lock",
    "source_location": "source_location",
    "span": "span as_bytes as_writable_bytes dynamic_extent begin end size data",
    "sstream": "istringstream ostringstream stringstream stringbuf ios ios_base streamsize",
    "stack": "stack",
    "stdexcept": "runtime_error logic_error invalid_argument out_of_range length_error",
    "stop_token": "stop_token stop_source stop_callback",
    "streambuf": "streambuf",
    "string": """string u8string wstring to_string stoi stol stoll stoul stoull stod getline basic_string char_traits hash
        begin end size data erase erase_if swap""",
    "string_view": "string_view wstring_view basic_string_view hash string_view_literals begin end size data",
    "system_error": "system_error error_code errc error_category generic_category system_category make_error_code",
    "thread": "thread jthread this_thread stop_token stop_source",
    "tuple": "tuple tie make_tuple forward_as_tuple get apply ignore tuple_size tuple_element tuple_cat swap",
    "type_traits": """is_same_v is_signed_v is_unsigned_v is_integral_v is_floating_point_v is_enum_v is_class_v
        is_arithmetic_v is_trivially_copyable_v is_trivially_destructible_v is_nothrow_move_constructible_v
        is_standard_layout_v is_const_v is_pointer_v is_void_v is_convertible_v is_base_of_v is_invocable_v
        is_constructible_v is_invocable_r_v is_default_constructible_v is_reference_v is_array_v is_function_v
        is_copy_constructible_v remove_const_t remove_cvref_t remove_cv_t remove_reference_t remove_pointer_t decay_t
        conditional_t enable_if_t make_unsigned_t make_signed_t underlying_type_t type_identity_t type_identity
        invoke_result_t add_const_t common_type_t true_type false_type integral_constant bool_constant is_same
        is_constant_evaluated is_empty_v is_lvalue_reference_v is_rvalue_reference_v is_object_v void_t has_unique_object_representations_v""",
    "typeinfo": "type_info",
    "unordered_map": "pair unordered_map unordered_multimap begin end size erase_if swap",
    "unordered_set": "unordered_set unordered_multiset begin end size erase_if swap",
    "utility": """move forward exchange swap pair make_pair as_const declval in_place in_place_index in_place_type get
        index_sequence make_index_sequence integer_sequence to_underlying cmp_less cmp_greater cmp_equal in_range
        tuple_size unreachable index_sequence_for""",
    "valarray": "valarray",
    "variant": "variant visit get get_if holds_alternative monostate hash swap variant_size_v",
    "vector": "vector begin end size data erase erase_if swap",
    "version": "",
}
# Headers that the standard, or POSIX, says to hold what another one has.
HOLDS = {
    "stdint.h": "cstdint", "inttypes.h": "cstdint", "cinttypes": "cstdint", "stddef.h": "cstddef", "stdio.h": "cstdio", "stdlib.h": "cstdlib",
    "string.h": "cstring", "errno.h": "cerrno", "limits.h": "climits", "time.h": "ctime", "signal.h": "csignal",
    "assert.h": "cassert", "ctype.h": "cctype", "math.h": "cmath", "stdarg.h": "cstdarg", "wchar.h": "cwchar",
    "mpi.h": "cstdint", "fmt/format.h": "", "ISO_Fortran_binding.h": "cstddef",
}
# Names that C has, too, and that are used without std::, by the header that has them.
PLAIN = {
    "cstdint": r"u?int(?:8|16|32|64)_t|u?intptr_t|U?INT(?:8|16|32|64)_(?:MAX|MIN)|U?INT64_C|SIZE_MAX|U?INTPTR_MAX",
    "cerrno": r"errno|E(?:INTR|AGAIN|INVAL|NOENT|ACCES|PERM|EXIST|NOSPC|NOMEM|PIPE|BADF|IO|SRCH|CHILD|MFILE|NFILE)",
    "climits": r"U?(?:INT|LONG|SHRT|CHAR|LLONG)_(?:MAX|MIN)|CHAR_BIT|PATH_MAX|IOV_MAX|NAME_MAX",
    "cassert": r"assert",
    "cstring": r"mem(?:cpy|move|set|cmp|chr)|str(?:cmp|ncmp|len|error|r?chr|str|n?cpy)",
    "cstdio": r"f?printf|snprintf|stderr|stdout|stdin",
    "cstdlib": r"getenv|malloc|calloc|realloc|EXIT_SUCCESS|EXIT_FAILURE|strto(?:u?ll?|d)|ato[il]",
}
# Every header of the standard needs these for its own declarations, and every library we know gives them.
EVERYWHERE = {"size_t", "ptrdiff_t", "nullptr_t", "initializer_list", "literals"}
TOPS = ("launcher", "lib", "runtime", "tests")
WHOLE = ("ranges::",)  # whose members the table has in full

PROVIDERS = {}
for header_name, words in HEADERS.items():
    for word in words.split():
        PROVIDERS.setdefault(word, set()).add(header_name)


def without_comments_and_strings(text):
    text = re.sub(r'R"\((?:.|\n)*?\)"', '""', text)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
                  lambda found: "\n" * found[0].count("\n"), text, flags=re.S)


class Source:
    """What a file includes, and which names it uses in which line."""

    def __init__(self, root, path):
        text = path.read_text()
        self.standard, self.ours = set(), []
        for style, name in re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', text, flags=re.M):
            above = (folder for folder in path.parents if folder.is_relative_to(root))
            places = [folder / name for folder in (*above, root / "runtime", root / "tests/programs")]
            own = next((each.resolve() for each in places if each.is_file()), None)
            if own:
                self.ours.append(own)
            else:
                self.standard.add(HOLDS.get(name, name))
        self.names = {}
        code = without_comments_and_strings(text)
        for number, line in enumerate(code.splitlines(), 1):
            if line.lstrip().startswith("#"):
                continue
            for inner, word in re.findall(r"\bstd::(ranges::)?(\w+)", line):
                self.names.setdefault("std::" + inner + word, number)
            for header, words in PLAIN.items():
                for word in re.findall(r"(?<![\w.>:])(?:::)?(" + words + r")\b", line):
                    self.names.setdefault((header, word), number)


def all_headers(path, sources, root, seen):
    """The standard headers that this file gets by name, itself or through ours."""
    if path in seen:
        return set()
    seen.add(path)
    if path not in sources:
        sources[path] = Source(root, path)
    found = set(sources[path].standard)
    for own in sources[path].ours:
        found |= all_headers(own, sources, root, seen)
    return found


def offences(path, place, headers, source):
    for name, number in source.names.items():
        if isinstance(name, tuple):
            providers, word = {name[0]}, name[1]
        else:
            word = name.removeprefix("std::")
            if word in EVERYWHERE:
                continue
            providers = PROVIDERS.get(word)
            if not providers:
                yield f"{place}:{number}: {name} stands in no header that includes.py knows: add it there"
                continue
        if not providers & headers:
            wanted = " or ".join(f"<{each}>" for each in sorted(providers))
            yield f"{place}:{number}: {word} needs {wanted}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found, files, sources = [], 0, {}
    for top in TOPS:
        for path in sorted((root / top).rglob("*.[ch]pp")):
            files += 1
            headers = all_headers(path, sources, root, set())
            found += offences(path, path.relative_to(root), headers, sources[path])
    print("\n".join(found) or f"{files} files include what they use of the standard library")
    return bool(found) or files < 50


sys.exit(main())
