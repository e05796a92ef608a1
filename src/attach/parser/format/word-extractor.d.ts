/** word-extractor has no types of its own. */
declare module 'word-extractor' {
  export interface ExtractedDocument {
    getBody(): string;
    getFootnotes(): string;
    getEndnotes(): string;
    getHeaders(options?: { readonly includeFooters?: boolean }): string;
    getFooters(): string;
    getTextboxes(options?: {
      readonly includeHeadersAndFooters?: boolean;
      readonly includeBody?: boolean;
    }): string;
  }

  export default class WordExtractor {
    extract(source: string | Buffer): Promise<ExtractedDocument>;
  }
}
