import type { IgnoredParameters } from './answer.js';

/** Whether the value has no effect, so that dropping it is not reported. */
type IsNeutral = (value: unknown) => boolean;

/** Parameters that may be ignored, by name. */
export type Hints = Readonly<Record<string, IsNeutral>>;

const always: IsNeutral = () => true;
const never: IsNeutral = () => false;
const oneOf =
  (...values: readonly unknown[]): IsNeutral =>
  (value) =>
    values.includes(value);
const isEmpty: IsNeutral = (value) =>
  typeof value === 'object' && Object.keys(value ?? {}).length === 0;

/** Parameters for identity, routing, caching, storage or billing. They do not affect the answer. */
const ABOUT_THE_CALL: Hints = {
  user: always,
  user_id: always,
  metadata: always,
  safety_identifier: always,
  prompt_cache_key: always,
  prompt_cache_retention: always,
  prediction: always,
  cache_prompt: always,
  keep_alive: always,
  request_id: always,
  usage: always,
  priority: always,
  betas: always,
  diagnostics: always,
  billing_policy: always,
  session_id: always,
  trace: always,
  ttl: always,
  cache_control: always,
};

/**
 * Parameters of chat that vendors know beside the translated ones, from the references of OpenAI, OpenRouter, vLLM, SGLang,
 * llama.cpp, Mistral, Groq, DashScope and Zhipu (November 2026). Those that change what is asked for, such as `n`, tools of the
 * service or another form of the answer, are not among them.
 */
export const COMPLETION_HINTS: Hints = {
  ...ABOUT_THE_CALL,
  logprobs: oneOf(false),
  top_logprobs: oneOf(0),
  logit_bias: isEmpty,
  store: oneOf(false),
  verbosity: oneOf('medium'),
  service_tier: oneOf('auto', 'default'),
  moderation: never,
  provider: never,
  models: never,
  route: never,
  transforms: isEmpty,
  plugins: isEmpty,
  include_reasoning: never,
  separate_reasoning: never,
  reasoning_format: never,
  reasoning_split: never,
  thinking_budget: never,
  tool_stream: never,
  incremental_output: never,
  min_p: oneOf(0),
  top_a: oneOf(0),
  typical_p: oneOf(1),
  repetition_penalty: oneOf(1),
  repeat_penalty: oneOf(1),
  repeat_last_n: never,
  length_penalty: oneOf(1),
  no_repeat_ngram_size: oneOf(0),
  mirostat: oneOf(0),
  mirostat_tau: never,
  mirostat_eta: never,
  dynatemp_range: never,
  dynatemp_exponent: never,
  tfs_z: never,
  xtc_probability: never,
  xtc_threshold: never,
  samplers: never,
  do_sample: never,
  use_beam_search: oneOf(false),
  best_of: oneOf(1),
  min_tokens: oneOf(0),
  ignore_eos: oneOf(false),
  stop_token_ids: isEmpty,
  skip_special_tokens: oneOf(true),
  spaces_between_special_tokens: never,
  include_stop_str_in_output: oneOf(false),
  add_generation_prompt: oneOf(true),
  chat_template_kwargs: never,
  extra_body: isEmpty,
  web_search_options: never,
  truncate_prompt_tokens: never,
  num_ctx: never,
  reasoning_budget: never,
  reasoning_history: never,
  clear_thinking: never,
  safety_settings: never,
  bad_words: isEmpty,
  allowed_token_ids: never,
  return_token_ids: oneOf(false),
  return_tokens_as_token_ids: oneOf(false),
  prompt_logprobs: oneOf(0),
  mm_processor_kwargs: never,
  dry_multiplier: oneOf(0),
  dry_base: never,
  dry_allowed_length: never,
  top_n_sigma: never,
  n_keep: never,
  id_slot: always,
  timings_per_token: oneOf(false),
  return_progress: oneOf(false),
  draft_model: always,
  context_length_exceeded_behavior: never,
  prompt_truncate_len: never,
  perf_metrics_in_response: oneOf(false),
};

/** Hints of text completions. */
export const TEXT_HINTS: Hints = {
  ...COMPLETION_HINTS,
  frequency_penalty: oneOf(0),
  presence_penalty: oneOf(0),
  top_k: oneOf(0, -1),
};

/** Hints of the messages protocol, from Anthropic's reference including betas (November 2026). */
export const MESSAGE_HINTS: Hints = {
  ...ABOUT_THE_CALL,
  service_tier: oneOf('auto', 'standard_only'),
  speed: oneOf('standard'),
  context_management: never,
  compaction: never,
  fallbacks: never,
  fallback_credit_token: never,
  user_profile_id: always,
};

/**
 * Hints of the Responses protocol, from the reference of OpenAI and the requests of Codex, opencode and the AI SDK (November 2026). There
 * are no tools here that the service runs itself, whose calls could be limited.
 */
export const RESPONSE_HINTS: Hints = {
  user: always,
  safety_identifier: always,
  prompt_cache_key: always,
  prompt_cache_retention: always,
  prompt_cache_options: always,
  client_metadata: always,
  max_tool_calls: always,
  service_tier: oneOf('auto', 'default'),
  top_logprobs: oneOf(0),
  truncation: oneOf('disabled'),
  context_management: never,
  moderation: never,
};

/** Hints of the Gemini protocol, from Google's reference and SDK (November 2026). */
export const CONTENT_HINTS: Hints = {
  // Named by the URL.
  model: always,
  labels: always,
  store: oneOf(false),
  serviceTier: oneOf('unspecified', 'standard', 'SERVICE_TIER_UNSPECIFIED', 'STANDARD'),
  safetySettings: isEmpty,
};

/** Hints in generationConfig. */
export const GENERATION_HINTS: Hints = {
  responseLogprobs: oneOf(false),
  logprobs: oneOf(0),
  mediaResolution: oneOf('MEDIA_RESOLUTION_UNSPECIFIED'),
  enableEnhancedCivicAnswers: oneOf(false),
  routingConfig: never,
  modelSelectionConfig: never,
  modelConfig: never,
};

export const EMBEDDING_HINTS: Hints = {
  ...ABOUT_THE_CALL,
  input_type: never,
  task: never,
  task_type: never,
  prompt_name: never,
  instruction: never,
  truncate: never,
  truncation: never,
  truncate_prompt_tokens: never,
  late_chunking: oneOf(false),
  normalized: oneOf(true),
  normalize: oneOf(true),
  text_type: never,
  title: never,
  modality: never,
  add_special_tokens: oneOf(true),
  output_dtype: oneOf('float'),
};

export const RERANK_HINTS: Hints = {
  ...ABOUT_THE_CALL,
  max_chunks_per_doc: never,
  max_tokens_per_doc: never,
  overlap_tokens: never,
  truncation: never,
  truncate: never,
  truncate_prompt_tokens: never,
  rank_fields: never,
  instruct: never,
  instruction: never,
  raw_scores: never,
};

export const MODERATION_HINTS: Hints = ABOUT_THE_CALL;

export const IMAGE_HINTS: Hints = {
  ...ABOUT_THE_CALL,
  quality: oneOf('auto'),
  style: never,
  background: oneOf('auto'),
  moderation: oneOf('auto'),
  output_format: never,
  output_compression: never,
  input_fidelity: never,
  partial_images: oneOf(0),
  negative_prompt: never,
  guidance_scale: never,
  num_inference_steps: never,
  steps: never,
  cfg_scale: never,
  prompt_extend: never,
  prompt_enhancement: never,
  watermark: never,
  add_watermark: never,
  aspect_ratio: never,
  resolution: never,
  prompt_optimizer: never,
  sampler: never,
  stream: oneOf(false),
};

export const SPEECH_HINTS: Hints = {
  ...ABOUT_THE_CALL,
  language: never,
  sample_rate: never,
  gain: never,
  volume: never,
  pitch: never,
  emotion: never,
  bitrate: never,
  channel: never,
  seed: never,
  temperature: never,
  top_p: never,
  text_normalization: never,
  stream: oneOf(false),
};

/** The body without parameters whose value has no effect. */
export function withoutNeutral(
  body: Readonly<Record<string, unknown>>,
  neutral: Hints,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => !(Object.hasOwn(neutral, name) && neutral[name]?.(value)),
    ),
  );
}

/**
 * The body without the hints, of which those that would have changed something are noted, with `place` before their names. Anything
 * but an object stays as it is.
 */
export function withoutHints(
  body: unknown,
  hints: Hints,
  ignored: IgnoredParameters,
  place = '',
): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => {
      const isNeutral = Object.hasOwn(hints, name) ? hints[name] : undefined;
      if (!isNeutral) return true;
      if (value !== null && !isNeutral(value)) ignored.add(place + name);
      return false;
    }),
  );
}
