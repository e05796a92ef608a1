/** A text for the model, quoted as data in tags that neither it nor the facts about it can close. */
export function quoted(
  tag: string,
  facts: Readonly<Record<string, string | number>>,
  text: string,
): string {
  const attributes = Object.entries(facts).map(([name, value]) => {
    const shown = escaped(tag, String(value)).replaceAll('"', '&quot;').replaceAll(/\s+/g, ' ');
    return ` ${name}="${shown}"`;
  });
  return `<${tag}${attributes.join('')}>\n${escaped(tag, text)}\n</${tag}>`;
}

/** Without the tags of the quotation, which would otherwise end it. */
function escaped(tag: string, text: string): string {
  return text.replaceAll(new RegExp(`<(?=\\s*/?\\s*${tag}\\b)`, 'gi'), '&lt;');
}
