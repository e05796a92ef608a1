import type { ToolContext } from '../tool.js';
import { ToolError } from '../../fault/tool.error.js';

type Where = Pick<ToolContext, 'workspace'>;

/**
 * Whether a path that was asked for is secret. Where it leads to a secret file of another name, it is refused whatever
 * the policy says: consent to a name is no consent to what is behind it.
 */
export function secrecyOf({ workspace }: Where, path: string, realPath: string): boolean {
  if (realPath !== path && workspace.classify(realPath).secret) {
    throw new ToolError(
      'SECRET_PATH',
      `${path} is a link to ${realPath}, which may hold secrets. Links to such files are not followed. If you need it, ask for ${realPath} itself.`,
    );
  }
  return workspace.classify(path).secret;
}
