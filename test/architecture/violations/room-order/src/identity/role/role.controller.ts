export { toUserView } from '../user/user.view.js';
