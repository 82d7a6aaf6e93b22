// Donation through the compiler's interface: proven by addresses, by the ledger, and by failures.
#include <gmock/gmock.h>

#include <algorithm>

#include "nx/element.h"
#include "sanitized.h"
#include "xla/emitter.h"
#include "xla/pjrt.h"
#include "xla/with_executable.h"
#include "xla/xla_executable.h"

namespace nx::xla {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DonationXlaExecutable : public WithExecutable {};

TEST_F(DonationXlaExecutable, R9_R21_each_result_lies_where_its_leaf_lay) {
  const auto executable = compile(swapped(), swapped_pairs());
  const Held a = store({1, 2, 3, 4}), b = store({5, 6, 7, 8});
  const void* const at_a = a->identity();
  const void* const at_b = b->identity();
  const Outcome outcome =
      call(*executable, 2, {&a, &b}, {InputMode::kDonated, InputMode::kDonated});
  EXPECT_EQ(outcome.aliased, 2u);
  EXPECT_EQ(outcome.results[0]->identity(), at_b);
  EXPECT_EQ(outcome.results[1]->identity(), at_a);
  EXPECT_THAT(outcome.results[0].values(), ElementsAre(6, 7, 8, 9));
  EXPECT_TRUE(a->buffer().is_deleted());
}

TEST_F(DonationXlaExecutable, R12_protected_leaves_stay_alive_and_the_bits_are_the_same) {
  const auto executable = compile(swapped(), swapped_pairs());
  const Held a = store({1, 2, 3, 4}), b = store({5, 6, 7, 8});
  const Outcome outcome =
      call(*executable, 2, {&a, &b}, {InputMode::kProtected, InputMode::kDonated});
  EXPECT_THAT(a.values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(outcome.results[1].values(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(outcome.results[0].values(), ElementsAre(6, 7, 8, 9));
  EXPECT_EQ(outcome.aliased + outcome.copied, 2u);
  EXPECT_GE(outcome.copied, 1u);
  // Plain reading of leaves that the program aliases leaves them alone too.
  EXPECT_EQ(call(*executable, 2, {&a, &a}).copied, 2u);
  EXPECT_THAT(a.values(), ElementsAre(1, 2, 3, 4));
}

TEST_F(DonationXlaExecutable, R9_the_same_bytes_under_another_type_are_taken_over_in_place) {
  Build build("relabelled");
  const Edge x = build.parameter(DType::f32, {2, 3}), y = build.parameter(DType::f64, {4});
  build.output(build.cast(x, DType::s32, {6}));
  build.output(build.op(testing::kAdd,
                        {build.cast(y, DType::f64, {2, 2}), build.cast(y, DType::f64, {2, 2})}));
  const auto executable = compile(build, {{0, 0, PairKind::kBytes}, {1, 1, PairKind::kBytes}});
  EXPECT_EQ(executable->memory().temporaries, 0u);
  EXPECT_EQ(executable->memory().aliased, 24u + 32u);
  const Held a = store(std::vector<float>{0, 1, 2, 3, 4, -5}, DType::f32, {2, 3});
  const Held b = store(std::vector<double>{1, 2, 3, 4}, DType::f64, {4});
  const Outcome outcome =
      call(*executable, 2, {&a, &b}, {InputMode::kDonated, InputMode::kDonated});
  EXPECT_EQ(outcome.aliased, 2u);
  EXPECT_THAT(outcome.results[0].values<std::int32_t>(), ElementsAre(0, 1, 2, 3, 4, -5));
  EXPECT_THAT(outcome.results[1].values<double>(), ElementsAre(2, 4, 6, 8));
  // Under its new type it is an argument like any other.
  Build next("next");
  next.output(next.plus_one(next.parameter(DType::s32, {6})));
  const Outcome more = call(*compile(next, {{0, 0, PairKind::kInPlace}}), 1, {&outcome.results[0]},
                            {InputMode::kDonated});
  EXPECT_EQ(more.aliased, 1u);
  EXPECT_THAT(more.results[0].values<std::int32_t>(), ElementsAre(1, 2, 3, 4, 5, -4));
}

TEST_F(DonationXlaExecutable, R9_elements_of_another_device_width_are_freed) {
  Build build("narrowed");
  build.output(build.cast(build.parameter(DType::u8, {8}), DType::u4, {8}));
  const auto executable = compile(build, {{0, 0, PairKind::kBytes}});
  EXPECT_THAT(executable->pairs(), IsEmpty());
  const Held a = store(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}, DType::u8, {8});
  const Outcome outcome = call(*executable, 1, {&a}, {InputMode::kDonated});
  EXPECT_EQ(outcome.freed, 1u);
  EXPECT_TRUE(a->buffer().is_deleted());
  EXPECT_THAT(outcome.results[0].values<std::uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(DonationXlaExecutable, R9_every_type_is_taken_over_in_place) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    Build build("typed");
    build.output(build.plus_one(build.parameter(type, {4})));
    const auto executable = compile(build, {{0, 0, PairKind::kInPlace}});
    const Held a = store(std::vector<std::uint8_t>(4 * byte_size_of(type)), type, {4});
    const Outcome outcome = call(*executable, 1, {&a}, {InputMode::kDonated});
    EXPECT_EQ(outcome.aliased, 1u) << name_of(type);
    std::vector<std::uint8_t> bytes = outcome.results[0].values<std::uint8_t>();
    EXPECT_TRUE(std::any_of(bytes.begin(), bytes.end(), [](auto b) { return b != 0; }));
  }
}

TEST_F(DonationXlaExecutable, R11_a_donated_leaf_without_a_partner_is_freed) {
  Build build("freed");
  const Edge a = build.parameter(DType::f32, {4});
  build.output(build.cast(build.plus_one(a), DType::f64, {4}));
  const auto executable = compile(build);
  const Held x = store({1, 2, 3, 4});
  const Outcome outcome = call(*executable, 1, {&x}, {InputMode::kDonated});
  EXPECT_EQ(outcome.freed, 1u);
  EXPECT_TRUE(x->buffer().is_deleted());
  EXPECT_THAT(outcome.results[0].values<double>(), ElementsAre(2, 3, 4, 5));
  x->free_memory();  // as the runtime does for every donated leaf
}

TEST_F(DonationXlaExecutable, R20_the_ledger_counts_results_and_forgets_what_was_taken_over) {
  detail::Ledger& ledger = detail::ledger_of(1);
  const std::size_t before = ledger.live;
  {
    const auto executable = compile(swapped(), swapped_pairs());
    Held a = store({1, 2, 3, 4}), b = store({5, 6, 7, 8});
    EXPECT_EQ(ledger.live, before + 32);
    ledger.peak.store(ledger.live);
    const Outcome outcome =
        call(*executable, 2, {&a, &b}, {InputMode::kDonated, InputMode::kDonated});
    EXPECT_EQ(ledger.live, before + 32);
    EXPECT_EQ(ledger.peak, before + executable->memory().peak());
    const Outcome copied = call(*executable, 2, {&outcome.results[0], &outcome.results[1]});
    EXPECT_EQ(ledger.live, before + 64);
    outcome.results[0]->free_memory();
    outcome.results[0]->free_memory();
    EXPECT_EQ(ledger.live, before + 48);
  }
  EXPECT_EQ(ledger.live, before);
}

TEST_F(DonationXlaExecutable, R20_the_plan_tells_arguments_results_and_aliased) {
  const graph::MemoryUse use = compile(swapped(), swapped_pairs())->memory();
  EXPECT_EQ(use.arguments, 32u);
  EXPECT_EQ(use.results, 32u);
  EXPECT_EQ(use.aliased, 32u);
  EXPECT_EQ(use.temporaries, 0u);
}

TEST_F(DonationXlaExecutable, R21_pairs_and_text_are_those_of_the_compiled_program) {
  const auto executable = compile(swapped(), swapped_pairs());
  ASSERT_EQ(executable->pairs().size(), 2u);
  EXPECT_EQ(executable->pairs()[0].output, 1u);
  EXPECT_EQ(executable->pairs()[0].kind, PairKind::kInPlace);
  EXPECT_THAT(executable->to_string(), HasSubstr("tf.aliasing_output = 1"));
  EXPECT_THAT(executable->to_string(), HasSubstr("aliased (leaf -> result): 0 -> 1, 1 -> 0"));
  EXPECT_GT(executable->own_bytes(), 10000u);
}

TEST_F(DonationXlaExecutable, R21_a_program_with_fewer_or_other_aliases_is_an_internal_error) {
  const Build build = swapped();
  const auto made_of = [&](std::vector<DonationPair> compiled, std::vector<DonationPair> asked) {
    XlaExecutable::Parts parts;
    parts.program = Program::compile(client(), emit_module(build.graph, compiled));
    parts.function = "mutant";
    parts.pairs = std::move(asked);
    parts.parameters = 2;
    parts.output_bytes = {16, 16};
    parts.device = compiler().device();
    return XlaExecutable(std::move(parts));
  };
  const DonationPair first = swapped_pairs()[0], second = swapped_pairs()[1];
  EXPECT_EQ(made_of({first, second}, {first, second}).pairs().size(), 2u);
  for (const std::vector<DonationPair>& compiled :
       {std::vector{first}, std::vector{second}, std::vector<DonationPair>{},
        std::vector<DonationPair>{{0, 0, PairKind::kInPlace}, {1, 1, PairKind::kInPlace}}}) {
    try {
      made_of(compiled, {first, second});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InternalError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("mutant: the plugin aliases other leaves"),
                                      HasSubstr("expected 1 -> 0, 0 -> 1")));
    }
  }
  EXPECT_THROW(made_of({first, second}, {first}), InternalError);
}

TEST_F(DonationXlaExecutable, R14_a_leaf_that_somebody_else_holds_is_an_internal_error) {
  const auto executable = compile(swapped(), swapped_pairs());
  const Held a = store({1, 2, 3, 4}), b = store({5, 6, 7, 8});
  auto reference = make_args<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  reference.buffer = a->buffer().handle();
  check(client().api(), client().api().PJRT_Buffer_IncreaseExternalReferenceCount(&reference),
        "test");
  try {
    call(*executable, 2, {&a, &b}, {InputMode::kDonated, InputMode::kDonated});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("swapped: the plugin copied donated argument 0"));
  }
  auto drop = make_args<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  drop.buffer = a->buffer().handle();
  check(client().api(), client().api().PJRT_Buffer_DecreaseExternalReferenceCount(&drop), "test");
  const Held c = store({1, 2, 3, 4}), d = store({5, 6, 7, 8});
  EXPECT_EQ(call(*executable, 2, {&c, &d}, {InputMode::kDonated, InputMode::kDonated}).aliased, 2u);
}

TEST_F(DonationXlaExecutable, R28_a_chain_of_donated_calls_keeps_one_buffer) {
  Build build("chain");
  build.output(build.plus_one(build.parameter(DType::f32, {4})));
  const auto executable = compile(build, {{0, 0, PairKind::kInPlace}});
  Held state = store({0, 0, 0, 0});
  const void* const home = state->identity();
  const std::size_t live = detail::ledger_of(1).live;
  const std::int64_t buffers = client().live_buffers();
  detail::Storage* current = &*state;
  current->retain();
  for (int i = 0; i < 1000; ++i) {
    detail::Storage* next = nullptr;
    const InputMode mode = InputMode::kDonated;
    CallFrame frame{{&current, 1}, {&mode, 1}, {&next, 1}};
    executable->run(frame);
    ASSERT_EQ(frame.aliased, 1u);
    current->release();
    current = next;
  }
  const Held last(current);
  EXPECT_EQ(last->identity(), home);
  EXPECT_EQ(detail::ledger_of(1).live, live);
  EXPECT_LE(client().live_buffers(), buffers + 1);
  EXPECT_THAT(last.values(), ElementsAre(1000, 1000, 1000, 1000));
}

// 64 TiB cannot be had, which is found out while running.
TEST_F(DonationXlaExecutable, R18_a_failed_run_is_reported_and_a_good_call_follows) {
  if (test::kSanitized)
    GTEST_SKIP() << "a sanitizer's allocator ends the process instead of failing";
  Build build("huge");
  const Edge x = build.parameter(DType::f32, {4}), y = build.parameter(DType::f32, {});
  build.output(build.plus_one(x));
  build.output(build.op(testing::kFull, {y},
                        graph::Attrs::of(testing::ShapeAttrs{DType::f32, {16777216, 1048576}})));
  const Held scalar = store(std::vector<float>{1}, DType::f32, {});
  {
    const auto executable = compile(build, {{0, 0, PairKind::kInPlace}}, {.keep_on_failure = true});
    const Held a = store({1, 2, 3, 4});
    EXPECT_THAT(backend_error([&] {
                  call(*executable, 2, {&a, &scalar}, {InputMode::kProtected, InputMode::kRead});
                }),
                HasSubstr("huge: "));
    EXPECT_THAT(a.values(), ElementsAre(1, 2, 3, 4));
  }
  {
    const auto executable = compile(build, {{0, 0, PairKind::kInPlace}});
    const Held a = store({1, 2, 3, 4});
    EXPECT_THAT(backend_error([&] {
                  const Outcome outcome =
                      call(*executable, 2, {&a, &scalar}, {InputMode::kDonated, InputMode::kRead});
                  outcome.results[1]->buffer().wait();
                }),
                HasSubstr("RESOURCE_EXHAUSTED"));
    a->free_memory();
  }
  const Held c = store({1, 2, 3, 4}), d = store({5, 6, 7, 8});
  const auto good = compile(swapped(), swapped_pairs());
  EXPECT_EQ(call(*good, 2, {&c, &d}, {InputMode::kDonated, InputMode::kDonated}).aliased, 2u);
}

}  // namespace
}  // namespace nx::xla
