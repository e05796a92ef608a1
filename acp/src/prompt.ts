import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ContentBlock } from '@agentclientprotocol/sdk';
import { fenced } from './updates.js';

export interface Requirement {
  readonly text: string;
  readonly images: readonly { readonly dataUrl: string }[];
}

/** What a prompt of the editor says to a run. Files of the workspace are named by their paths in it. */
export function requirementOf(prompt: readonly ContentBlock[], workspace: string): Requirement {
  const parts: string[] = [];
  const images: { dataUrl: string }[] = [];
  for (const block of prompt) {
    switch (block.type) {
      case 'text':
        parts.push(block.text);
        break;
      case 'image':
        images.push({ dataUrl: `data:${block.mimeType};base64,${block.data}` });
        break;
      case 'resource_link':
        parts.push(placeOf(block.uri, workspace));
        break;
      case 'resource':
        parts.push(embedded(block.resource, workspace));
        break;
      case 'audio':
        throw new Error('Audio is not supported. Send text, images or files.');
    }
  }
  return { text: parts.join('\n').trim(), images };
}

function embedded(
  resource: (ContentBlock & { type: 'resource' })['resource'],
  workspace: string,
): string {
  const place = placeOf(resource.uri, workspace);
  if (!('text' in resource)) return place;
  return `${place}\n${fenced(resource.text)}`;
}

/** The path in the workspace of a file below it, else the address. */
function placeOf(uri: string, workspace: string): string {
  if (!uri.startsWith('file://')) return uri;
  const [address = '', fragment] = uri.split('#');
  const path = relative(workspace, fileURLToPath(address));
  const isInside = path !== '' && !path.startsWith('..') && !isAbsolute(path);
  const place = isInside ? path.split(sep).join('/') : address;
  return fragment === undefined ? place : `${place}#${fragment}`;
}
