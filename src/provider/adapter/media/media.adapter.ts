import type {
  FormValue,
  ModelCallOptions,
  ModelConnection,
  ModelFile,
  Usage,
} from '../model-call.js';
import type { AdapterNames } from '../named-adapter.js';

/**
 * The contract of a media model's adapter. It holds no state of any tenant. An adapter has the methods that its service
 * has; what it lacks, the registry's user refuses with a clear error.
 *
 * Every method fails with UpstreamError, ForbiddenAddressError, InvalidAddressError or, for a task id that can be none,
 * InvalidInputError. An answer without anything that can be shown or looked up is an UpstreamError (protocol), never an
 * empty result. A provider's 404 is one of kind `not-found` that names the path that was called. The limits hold for
 * each request of a call; the signal ends the call at once.
 */
export interface MediaAdapter extends AdapterNames {
  readonly image?: MediaMethod<ImageCall>;
  readonly speech?: MediaMethod<SpeechCall>;
  readonly video?: MediaMethod<VideoCall>;
  /** A video task's state and resource. */
  readonly lookUpVideo?: MediaMethod<string>;
  /** The state and resource of a task of any kind. A task that the service does not know (any more) is `failed`. */
  readonly lookUpPrediction?: MediaMethod<PredictionLookup>;
  /** Returns as many images as were asked for, or fewer where the service makes fewer. */
  readonly edit?: (
    call: ImageEditCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ) => Promise<readonly MediaResult[]>;
  readonly moderate?: (
    call: ModerationCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ) => Promise<Moderation>;
  readonly transcribe?: (
    call: TranscriptionCall,
    connection: ModelConnection,
    options: TranscriptionOptions,
  ) => Promise<Transcript>;
}

type MediaMethod<Call> = (
  call: Call,
  connection: ModelConnection,
  options: MediaCallOptions,
) => Promise<MediaResult>;

export type MediaType = 'image' | 'audio' | 'video';

export interface ImageCall {
  readonly model: string;
  readonly prompt: string;
  readonly size?: string;
  readonly seed?: number;
}

export interface ImageEditCall {
  readonly model: string;
  readonly prompt: string;
  readonly images: readonly ModelFile[];
  readonly mask?: ModelFile | undefined;
  readonly n: number;
  /** Further fields of the form, in the words of the protocol. */
  readonly fields: Readonly<Record<string, FormValue>>;
}

export interface SpeechCall {
  readonly model: string;
  readonly input: string;
  readonly voice?: string;
  readonly responseFormat?: string;
  readonly speed?: number;
  readonly instructions?: string;
}

export interface VideoCall {
  readonly model: string;
  readonly prompt: string;
  readonly size?: string;
  readonly seconds?: number;
  readonly quality?: string;
}

export interface PredictionLookup {
  readonly id: string;
  readonly type: MediaType;
}

/** The result of a media call; an unused field is null, never absent. */
export interface MediaResult {
  readonly type: MediaType;
  /** The media type, known from the start, also of a task that has no resource yet. */
  readonly mimeType: string | null;
  /** The address of the resource, always http or https. */
  readonly url: string | null;
  readonly b64Json: string | null;
  readonly dataUrl: string | null;
  /** Task id, for results that are looked up later. */
  readonly id: string | null;
  /** The service's own word, passed through. */
  readonly status: string | null;
  readonly lastFrameUrl: string | null;
  /**
   * The service's JSON answer as text, cut after 64 Ki characters: credentials removed, embedded media shortened.
   * Null where the answer was the medium itself.
   */
  readonly rawResponse: string | null;
}

export type MediaCallOptions = ModelCallOptions;

export const TRANSCRIPT_FORMATS = [
  'json',
  'text',
  'srt',
  'verbose_json',
  'vtt',
  'diarized_json',
] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** Formats of an answer that is text instead of JSON. */
export function isTextFormat(format: TranscriptFormat): boolean {
  return format === 'text' || format === 'srt' || format === 'vtt';
}

export interface TranscriptionCall {
  readonly model: string;
  readonly file: ModelFile;
  /** Whether to transcribe, or to `translate` into English. */
  readonly task: 'transcribe' | 'translate';
  readonly format: TranscriptFormat;
  /** Further fields of the form, in the words of the protocol. */
  readonly fields: Readonly<Record<string, FormValue>>;
}

/** A piece of a transcript while it is made, in the words of OpenAI: `transcript.text.delta` or `transcript.text.segment`. */
export interface TranscriptEvent extends Readonly<Record<string, unknown>> {
  readonly type: string;
}

export interface TranscriptionOptions extends MediaCallOptions {
  /** Asks for a stream. A service that does not stream answers one delta with the whole text. */
  readonly onEvent?: ((event: TranscriptEvent) => Promise<void> | void) | undefined;
}

/** The complete transcript. */
export interface Transcript {
  /** The transcript in the requested format; a JSON format keeps the fields of the service. */
  readonly content: string | Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Length of the sound, where the service reports it. */
  readonly seconds?: number | undefined;
  readonly usage?: Usage | undefined;
}

/** The moderated input: texts with a result each, or parts of the protocol with one result together. */
export interface ModerationCall {
  readonly model: string;
  readonly input: string | readonly string[] | readonly object[];
}

/** An answer of the protocol, whose results all say whether they are flagged. */
export interface Moderation {
  readonly answer: Readonly<Record<string, unknown>>;
  readonly usage?: Usage | undefined;
}
