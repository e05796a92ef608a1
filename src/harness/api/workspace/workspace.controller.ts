import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import {
  Answer,
  AnswersArray,
  OK_MESSAGE,
  oneOf,
  text,
  View,
} from '../../../platform/http/index.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';

/** Maximum number of workspaces in one answer. */
const MAX_WORKSPACES = 1_000;

/** A folder that a session may be made for. */
export class WorkspaceView extends View({
  path: text({
    description: 'Absolute, without links; workspacePath of a new session',
    example: '/srv/workspaces/shop',
  }),
  name: text({ description: 'Name below the root; empty for the root itself', example: 'shop' }),
  root: text({ description: 'The root that it is, or lies in', example: '/srv/workspaces' }),
  kind: oneOf(['ROOT', 'FOLDER']),
}) {}

@ApiTags('coding harness')
@Controller('coding/harness/workspaces')
@RequirePermission('coding:harness:use')
export class WorkspaceController {
  constructor(private readonly roots: WorkspaceRoots) {}

  /**
   * The roots of the caller's tenant, each followed by the folders right in it, for which sessions may be made; at most
   * 1,000. Folders further down may be given as well. Beside data: whether there are more.
   */
  @Get()
  @AnswersArray(WorkspaceView, {
    more: { type: 'boolean', description: 'There are others, which are not listed' },
  })
  async list(@CurrentCaller() { tenantId }: Caller): Promise<Answer<WorkspaceView[]>> {
    const { workspaces, more } = await this.roots.list(tenantId, MAX_WORKSPACES);
    const views = workspaces.map(({ path, name, root }): WorkspaceView => {
      return { path, name, root, kind: name === '' ? 'ROOT' : 'FOLDER' };
    });
    return new Answer(views, OK_MESSAGE, { more });
  }
}
