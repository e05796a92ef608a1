/** A value in a template: numbered, or the name of a field, as class-validator writes it. */
const PROPERTY = '$property';
const VALUE = /(\{\d+\}|\$property)/;

/** The path of a field in a request, such as budget.maxTokens. */
const FIELD = /^[\w.[\]-]+$/;

/** An English text with places for values, such as "The model {0} is disabled. Enable it." */
export class Template {
  /** What is between the values; the first and the last can be empty. */
  private readonly literals: readonly string[];
  /** What stands for the values, such as {0}. */
  private readonly names: readonly string[];
  /** Characters outside of the values. */
  readonly fixed: number;

  constructor(text: string) {
    const pieces = text.split(VALUE);
    this.literals = pieces.filter((_, at) => at % 2 === 0);
    this.names = pieces.filter((_, at) => at % 2 === 1);
    this.fixed = this.literals.reduce((sum, literal) => sum + literal.length, 0);
  }

  /** What a text of this template begins with. */
  get start(): string {
    return this.literals[0] ?? '';
  }

  /**
   * The values with which this template makes the text, by what stands for them; undefined if it does not make it. Takes time
   * in proportion to the length of the text.
   */
  valuesIn(text: string): ReadonlyMap<string, string> | undefined {
    const [first = '', ...between] = this.literals;
    const last = between.pop();
    if (last === undefined) return text === first ? new Map() : undefined;
    if (!text.startsWith(first) || !text.endsWith(last)) return undefined;
    const end = text.length - last.length;
    const values: string[] = [];
    let at = first.length;
    for (const literal of between) {
      const next = text.indexOf(literal, at);
      if (next === -1) return undefined;
      values.push(text.slice(at, next));
      at = next + literal.length;
    }
    if (at > end) return undefined;
    values.push(text.slice(at, end));
    const named = new Map(this.names.map((name, index) => [name, values[index] ?? '']));
    const field = named.get(PROPERTY);
    return field === undefined || FIELD.test(field) ? named : undefined;
  }
}
