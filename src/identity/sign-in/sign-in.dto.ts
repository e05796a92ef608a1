import { PageQuery, Text } from '../../platform/http/index.js';

export class SignInListQuery extends PageQuery {
  @Text({ optional: true, description: 'Part of the name' })
  userName?: string;

  @Text({ optional: true, description: 'Part of the address' })
  ipaddr?: string;
}
