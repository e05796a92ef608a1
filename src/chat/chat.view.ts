import { ApiProperty } from '@nestjs/swagger';

export class StopView {
  @ApiProperty({ description: 'False when there was no running answer' })
  stopped: boolean;
}
