import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { RequirePermission } from '../platform/access/index.js';
import { AnswersArray, integer, text, View } from '../platform/http/index.js';

export class PostView extends View({
  postId: integer({ example: 1 }),
  postName: text({ example: 'Engineer' }),
}) {}

/** Posts are job titles. This service has none; the user form of existing consoles asks for them. */
@ApiTags('existing consoles')
@Controller('system/post')
export class PostController {
  /** The posts to choose from for a user: none. */
  @Get('optionselect')
  @RequirePermission('system:user:query', 'system:user:list')
  @AnswersArray(PostView)
  options(): PostView[] {
    return [];
  }
}
