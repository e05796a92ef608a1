import { ApiProperty } from '@nestjs/swagger';

export class RouteMetaView {
  @ApiProperty({ example: 'Models' })
  title: string;

  @ApiProperty({ example: 'lucide:cpu' })
  icon: string;

  @ApiProperty({ example: false })
  noCache: boolean;
}

export class RouteView {
  @ApiProperty({ example: 'ChatModel', description: 'Unique in the tree' })
  name: string;

  @ApiProperty({ example: 'model', description: 'With a leading slash at the top level only' })
  path: string;

  @ApiProperty({ example: false })
  hidden: boolean;

  @ApiProperty({ example: 'chat/model/index', description: '`Layout` for a folder' })
  component: string;

  @ApiProperty({ type: RouteMetaView })
  meta: RouteMetaView;

  @ApiProperty({ required: false, example: 'noRedirect' })
  redirect?: string;

  @ApiProperty({ required: false, example: true })
  alwaysShow?: boolean;

  @ApiProperty({ required: false, type: () => [RouteView] })
  children?: RouteView[];
}
